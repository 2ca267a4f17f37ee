// The caller's variables, from JSON.
#pragma once

#include <string_view>

#include "base/result.h"
#include "jinja/value.h"

namespace parlance::jinja {

// Objects keep the order of their keys; integers beyond 64 bits keep their digits. An error names the byte.
Result<Value> parse_json(std::string_view json, size_t max_depth);

}  // namespace parlance::jinja
