// The table of weight formats: how a row of each type is decoded to f32 and, where an encoder exists,
// encoded. These scalar functions are the definitions that every kernel is tested against. A new format is
// one file in this folder and one row of the table in block_format.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace parlance {

struct BlockFormat {
  // x = decoded values of n elements at `in`; n is a multiple of the block. Null: this program cannot read
  // the type.
  void (*decode_row)(const std::byte* in, float* x, int64_t n);
  // The inverse, without importance matrix, byte for byte as llama-quantize does. Null: there is no encoder.
  void (*encode_row)(const float* x, std::byte* out, int64_t n);
};

const BlockFormat& block_format(DType dtype);

}  // namespace parlance
