#include "quant/float_rows.h"

#include <cstring>

#include "base/half.h"

namespace parlance {

namespace {

template <float (*decode)(uint16_t)>
void decode_row_16(const std::byte* in, float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, in + 2 * i, 2);
    x[i] = decode(bits);
  }
}

template <uint16_t (*encode)(float)>
void encode_row_16(const float* x, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t bits = encode(x[i]);
    std::memcpy(out + 2 * i, &bits, 2);
  }
}

}  // namespace

void decode_row_f32(const std::byte* in, float* x, int64_t n) {
  if (n > 0) std::memcpy(x, in, static_cast<size_t>(n) * sizeof(float));
}

void encode_row_f32(const float* x, std::byte* out, int64_t n) {
  if (n > 0) std::memcpy(out, x, static_cast<size_t>(n) * sizeof(float));
}

void decode_row_f16(const std::byte* in, float* x, int64_t n) {
  decode_row_16<f32_from_f16>(in, x, n);
}
void encode_row_f16(const float* x, std::byte* out, int64_t n) {
  encode_row_16<f16_from_f32>(x, out, n);
}
void decode_row_bf16(const std::byte* in, float* x, int64_t n) {
  decode_row_16<f32_from_bf16>(in, x, n);
}
void encode_row_bf16(const float* x, std::byte* out, int64_t n) {
  encode_row_16<bf16_from_f32>(x, out, n);
}

}  // namespace parlance
