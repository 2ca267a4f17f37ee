#include "quant/float_rows.h"

#include <bit>
#include <cstring>

#include "base/half.h"

namespace parlance {

namespace {

// f32_from_f16() without branches, which the compiler makes vectors of.
float f32_of_row_f16(f16_bits half) {
  const uint32_t magnitude = half & 0x7fff, mantissa = half & 0x3ff;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t is_subnormal = magnitude < 0x400 ? ~0u : 0, is_not_finite = magnitude >= 0x7c00 ? ~0u : 0;
  const uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
  const uint32_t normal = (magnitude << 13) + (112u << 23);
  const auto subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(mantissa)) * 0x1p-24f);
  return std::bit_cast<float>(sign | quiet | (is_not_finite & 0x7f800000) | (subnormal & is_subnormal) |
                              (normal & ~is_subnormal));
}

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
  decode_row_16<f32_of_row_f16>(in, x, n);
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
