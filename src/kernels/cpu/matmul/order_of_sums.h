// The order in which the float sums of a row are made. It follows from a column's number alone, so that a
// product is the same bits whichever kernel computes it and with how many tokens.
//
// Quantised weights: sums over runs, or half runs where these have steps of their own. Integer sums within a
// run are exact in any order.
//
// AVX2 and NEON: one after the other, starting from the bias; first the products, then the offset.
//
// AVX-512: there are as many chains as kernels for few tokens have lanes for one row. What part i adds, first
// its offset, then its products, goes into chain i mod n of its segment. At the end of the segment the chains
// are put together in pairs and added to the total, which starts from the bias.
//
// Float weights, but for bf16 on AMX: as quantised ones on AVX-512, with four chains; what there is one of
// for a step (matmul/floats.h) goes into chain i mod 4 of a segment of kSegmentSteps.
//
// bf16 weights on AMX: as the tile instruction does it. Of each block of 32 values the products of those with
// an even number are added up one after the other, and those with an odd one, each rounded once with its
// product and taken for zero where it is below the smallest normal number; the two sums together are added to
// those of the blocks before, in a segment of kSegmentSteps pairs, and these to the total.
#pragma once

#include <cstdint>

namespace parlance::matmul {

inline constexpr int64_t kSegmentRuns =
    128;  // gemm unpacks so many at once: they stay in the second level cache

inline constexpr int64_t kSegmentSteps = 1024;

inline constexpr int kStepChains = 4;
inline constexpr int kRunChains = 4;
inline constexpr int kHalfRunChains = 16;

// Chains in such an order that those to be put together follow each other: after number i, as many times as i
// ends with ones in binary, what is at hand is put together with what waits longest. So the first to meet are
// those whose numbers differ by 2, then by 1; of sixteen, by 8, by 2, by 1 and by 4.
template <int kChains>
constexpr int chain_number(int i) {
  static_assert(kChains == 4 || kChains == 16);
  if (kChains == 4) return (i & 1) << 1 | (i & 2) >> 1;
  return (i & 1) << 3 | (i & 2) | (i & 4) >> 2 | (i & 8) >> 1;
}

// How many of n steps are of a chain.
constexpr int64_t steps_of_chain(int chain, int64_t n) {
  return (n + kStepChains - 1 - chain) / kStepChains;
}

}  // namespace parlance::matmul
