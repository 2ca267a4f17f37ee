#include "quant/q4_polar.h"

#include <cmath>
#include <cstring>

#include "quant/codebook.h"
#include "quant/hadamard.h"
#include "quant/signs.h"

namespace parlance {

namespace {

constexpr int kSize = 128;
constexpr float kLeastNorm = 1e-10f;

int code_at(const BlockQ4Polar& block, int i) {
  return (block.codes[i / 2] >> (4 * (i % 2))) & 15;
}

// v = the rotated block in units of its length, and the length.
float rotate(const float* x, float* v) {
  double squares = 0;
  for (int i = 0; i < kSize; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const auto length = static_cast<float>(std::sqrt(squares));
  const float inverse = length > kLeastNorm ? 1 / length : 0;
  for (int i = 0; i < kSize; ++i) v[i] = x[i] * inverse;
  hadamard(v, kSize);
  return length;
}

void round_to_codes(const float* v, BlockQ4Polar& block) {
  std::memset(&block, 0, sizeof block);
  float residual = 0;
  for (int i = 0; i < kSize; ++i) {
    const uint8_t code = boundaries_below(kPolarBoundaries, v[i]);
    block.codes[i / 2] |= static_cast<uint8_t>(code << (4 * (i % 2)));
    residual += (v[i] - kPolarCentroids[code]) * kPolarResidual[static_cast<size_t>(i)];
  }
  block.residual[0] = residual >= 0;
}

}  // namespace

void decode_stored(const BlockQ4Polar& block, float* y) {
  const float l2 = f32_from_f16(block.l2);
  for (int i = 0; i < kSize; ++i) y[i] = l2 * kPolarCentroids[static_cast<size_t>(code_at(block, i))];
}

void decode_stored(const BlockQ4PolarResidual& block, float* y) {
  const float l2 = f32_from_f16(block.l2);
  const float step = block.residual[0] & 1 ? kPolarResidualStep : -kPolarResidualStep;
  for (size_t i = 0; i < kSize; ++i) {
    const int code = code_at(block, static_cast<int>(i));
    y[i] = l2 * (kPolarCentroids[static_cast<size_t>(code)] + step * kPolarResidual[i]);
  }
}

void encode(const float* x, BlockQ4Polar& block) {
  float v[kSize];
  const float length = rotate(x, v);
  round_to_codes(v, block);
  block.l2 = f16_from_f32(length);
}

void encode_searched(const float* x, BlockQ4Polar& block) {
  float v[kSize];
  const float length = rotate(x, v);
  round_to_codes(v, block);
  float product = 0, squares = 0;
  for (int i = 0; i < kSize; ++i) {
    const float c = kPolarCentroids[static_cast<size_t>(code_at(block, i))];
    product += v[i] * c;
    squares += c * c;
  }
  block.l2 = f16_from_f32(length * product / squares);
}

}  // namespace parlance
