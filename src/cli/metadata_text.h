// Metadata values of a GGUF file in words and as JSON; long arrays are cut.
#pragma once

#include <string>

#include "gguf/reader.h"
#include "json/json.h"

namespace parlance {

// "u32", "f32 [64]"
std::string type_text(const GgufValue& value);

// The value on one line; strings as they are, arrays as their first elements.
std::string value_text(const GgufValue& value);

// Scalars as they are; an array as {"length": …, "first": […]}.
Json value_json(const GgufValue& value);

}  // namespace parlance
