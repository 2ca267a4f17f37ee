// The order in which the float sums over a row's runs (or half runs, where these have steps of their own) are
// made. It follows from the run's number alone, so that a product is the same bits whichever kernel computes
// it and with how many tokens. Integer sums within a run are exact in any order.
//
// AVX2 and NEON: one after the other, starting from the bias; first the products, then the offset.
//
// AVX-512: there are as many chains as kernels for few tokens have lanes for one row. What part i adds, first
// its offset, then its products, goes into chain i mod n of its segment. At the end of the segment the chains
// are put together in pairs and added to the total, which starts from the bias.
#pragma once

#include <cstdint>

namespace parlance::matmul {

inline constexpr int64_t kSegmentRuns =
    128;  // gemm unpacks so many at once: they stay in the second level cache

inline constexpr int kRunChains = 4;
inline constexpr int kHalfRunChains = 16;

// Chains in such an order that those to be put together follow each other: after number i, as many times as i
// ends with ones in binary, what is at hand is put together with what waits longest. So the first to meet are
// those whose numbers differ by 2, then by 1; of sixteen, by 8, by 2, by 1 and by 4.
template <int kChains>
constexpr int chain_number(int i) {
  static_assert(kChains == kRunChains || kChains == kHalfRunChains);
  if (kChains == kRunChains) return (i & 1) << 1 | (i & 2) >> 1;
  return (i & 1) << 3 | (i & 2) | (i & 4) >> 2 | (i & 8) >> 1;
}

}  // namespace parlance::matmul
