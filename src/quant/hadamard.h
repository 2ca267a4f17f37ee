// The Walsh-Hadamard transform in natural (Sylvester) order, in place: entries +-1, H H = n I.
#pragma once

#include <cstdint>

namespace parlance {

// n is a power of two.
inline void hadamard(float* x, int64_t n) {
  for (int64_t len = 1; len < n; len *= 2) {
    for (int64_t first = 0; first < n; first += 2 * len) {
      for (int64_t i = first; i < first + len; ++i) {
        const float a = x[i], b = x[i + len];
        x[i] = a + b;
        x[i + len] = a - b;
      }
    }
  }
}

// The orthogonal one: H / sqrt(n), multiplied after the butterfly.
inline void hadamard_normalised(float* x, int64_t n, float inverse_root) {
  hadamard(x, n);
  for (int64_t i = 0; i < n; ++i) x[i] *= inverse_root;
}

inline constexpr float kInverseRoot32 = 0.1767766952966369f;
inline constexpr float kInverseRoot128 = 0.08838834764831845f;

}  // namespace parlance
