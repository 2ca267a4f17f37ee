// How far products of the same weights and activations may be from each other that round these differently.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace parlance::test {

struct RoundingBound {
  double most = 0;      // all roundings are off as far as they can be, each in the worst direction
  double variance = 0;  // the expected square where they are off by anything up to that, independently
};

// Of a product of activations rounded to bytes, and of one of weights and activations rounded to bf16: this
// has eight significant bits, so that a value is off by 2^-8 of itself at most, and a byte by half a step of
// its run (activations.h). The mean square of what is uniform up to a bound is a third of the bound's square.
inline RoundingBound bf16_beside_bytes(const float* w, const float* x, int64_t n_in) {
  constexpr double kBf16 = 0x1p-8, kTwo = (1 + kBf16) * (1 + kBf16) - 1;
  constexpr int64_t kRun = 32;
  RoundingBound bound;
  for (int64_t run = 0; run < n_in; run += kRun) {
    double largest = 0;
    for (int64_t i = run; i < run + kRun; ++i)
      largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
    const double half_step = largest / 127 / 2;
    for (int64_t i = run; i < run + kRun; ++i) {
      const double own_w = std::fabs(w[i]), own_x = std::fabs(x[i]);
      bound.most += own_w * (own_x * kTwo + half_step);
      bound.variance += own_w * own_w * (2 * std::pow(own_x * kBf16, 2) + half_step * half_step) / 3;
    }
  }
  return bound;
}

}  // namespace parlance::test
