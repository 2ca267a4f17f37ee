// Rows of plain floats: f32 as they are, f16 and bf16 rounded to nearest even. Bytes need no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parlance {

void decode_row_f32(const std::byte* in, float* x, int64_t n);
void encode_row_f32(const float* x, std::byte* out, int64_t n);
void decode_row_f16(const std::byte* in, float* x, int64_t n);
void encode_row_f16(const float* x, std::byte* out, int64_t n);
void decode_row_bf16(const std::byte* in, float* x, int64_t n);
void encode_row_bf16(const float* x, std::byte* out, int64_t n);

}  // namespace parlance
