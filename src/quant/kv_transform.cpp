#include "quant/kv_transform.h"

#include <algorithm>
#include <cmath>

#include "quant/hadamard.h"
#include "quant/signs.h"
#include "quant/sketch.h"

namespace parlance {

namespace {

template <size_t n>
void multiply_signs(const std::array<float, n>& signs, float* x) {
  for (size_t i = 0; i < n; ++i) x[i] *= signs[i];
}

void rotate_heads(float* x, int64_t n) {
  const int64_t block = hadamard_block(n);
  const auto inverse_root = static_cast<float>(1 / std::sqrt(static_cast<double>(block)));
  for (int64_t i = 0; i < n; i += block) hadamard_normalised(x + i, block, inverse_root);
}

const SketchMatrix& reader_of(KvTransform transform) {
  return transform == KvTransform::sketch ? sketch_unbiased() : sketch_least_squares();
}

void to_sketch(const SketchMatrix& m, const float* q, float* stored) {
  std::fill_n(stored, kSketchOutputs, 0.0f);
  for (int64_t i = 0; i < kSketchInputs; ++i) {
    for (int64_t j = 0; j < kSketchOutputs; ++j)
      stored[j] += q[i] * m[static_cast<size_t>(i * kSketchOutputs + j)];
  }
}

void from_sketch(const SketchMatrix& m, const float* stored, float* x) {
  for (int64_t i = 0; i < kSketchInputs; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < kSketchOutputs; ++j)
      sum += m[static_cast<size_t>(i * kSketchOutputs + j)] * stored[j];
    x[i] = sum;
  }
}

}  // namespace

void to_stored(KvTransform transform, const float* q, float* stored, int64_t n) {
  if (stored_elements(transform, n) == n) std::copy_n(q, n, stored);
  switch (transform) {
    case KvTransform::none:
      return;
    case KvTransform::hadamard:
      return rotate_heads(stored, n);
    case KvTransform::signed_hadamard_32:
      for (int64_t i = 0; i < n; i += 32) {
        multiply_signs(kSigns32, stored + i);
        hadamard_normalised(stored + i, 32, kInverseRoot32);
      }
      return;
    case KvTransform::signed_hadamard_128:
      for (int64_t i = 0; i < n; i += 128) {
        multiply_signs(kSigns128Before, stored + i);
        hadamard_normalised(stored + i, 128, kInverseRoot128);
        multiply_signs(kSigns128After, stored + i);
      }
      return;
    case KvTransform::hadamard_128:
      for (int64_t i = 0; i < n; i += 128) hadamard_normalised(stored + i, 128, 1.0f / 128);
      return;
    case KvTransform::sketch:
    case KvTransform::sketch_least_squares:
      for (int64_t i = 0; i < n; i += kSketchInputs) to_sketch(reader_of(transform), q + i, stored + 2 * i);
      return;
  }
}

void from_stored(KvTransform transform, const float* stored, float* x, int64_t n) {
  switch (transform) {
    case KvTransform::none:
    case KvTransform::hadamard:
    case KvTransform::hadamard_128:
      return to_stored(transform, stored, x, n);  // symmetric
    case KvTransform::signed_hadamard_32:
      std::copy_n(stored, n, x);
      for (int64_t i = 0; i < n; i += 32) {
        hadamard_normalised(x + i, 32, kInverseRoot32);
        multiply_signs(kSigns32, x + i);
      }
      return;
    case KvTransform::signed_hadamard_128:
      std::copy_n(stored, n, x);
      for (int64_t i = 0; i < n; i += 128) {
        multiply_signs(kSigns128After, x + i);
        hadamard_normalised(x + i, 128, kInverseRoot128);
        multiply_signs(kSigns128Before, x + i);
      }
      return;
    case KvTransform::sketch:
    case KvTransform::sketch_least_squares:
      for (int64_t i = 0; i < n; i += kSketchInputs) from_sketch(reader_of(transform), stored + 2 * i, x + i);
      return;
  }
}

}  // namespace parlance
