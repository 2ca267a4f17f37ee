// The exponential function from additions and multiplications alone, so that it gives the same bits on every
// machine with IEEE arithmetic; those of C libraries differ in the last place.
#pragma once

#include <bit>
#include <cstdint>

namespace parlance {

// e^x for x <= 0, to about 1e-13 of its value; 0 below -700. Here so that loops over a vocabulary are not
// calls.
inline double portable_exp(double x) {
  if (!(x > -700)) return 0;
  // x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 in two parts, the first of which times n is exact.
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  const auto n = static_cast<int64_t>(x * kLog2E - 0.5);
  const auto n_real = static_cast<double>(n);
  const double r = (x - n_real * kLn2High) - n_real * kLn2Low;
  // The Taylor series; the first term left out is below 3e-13.
  constexpr double kInverseFactorials[] = {1.0,         1.0,          1.0 / 2,      1.0 / 6,
                                           1.0 / 24,    1.0 / 120,    1.0 / 720,    1.0 / 5040,
                                           1.0 / 40320, 1.0 / 362880, 1.0 / 3628800};
  double sum = 0;
  for (int i = 10; i >= 0; --i) sum = sum * r + kInverseFactorials[i];
  return sum * std::bit_cast<double>(static_cast<uint64_t>(1023 + n) << 52);
}

}  // namespace parlance
