// What the weights of a file come to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gguf/reader.h"

namespace parlance {

uint64_t n_weights(const GgufFile& file);
size_t weight_bytes(const GgufFile& file);
// The name of the type that most of their bytes are in; of a file without any, "no weights".
std::string_view dominant_type(const GgufFile& file);

}  // namespace parlance
