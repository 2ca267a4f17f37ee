// Constants of the cache formats for kernels, taken from their one home in quant/.
#pragma once

#include <array>
#include <cstddef>

#include "quant/codebook.h"
#include "quant/kv_transform.h"
#include "quant/signs.h"

namespace parlance::cuda {

// An array that device code may index.
template <size_t n>
struct Table {
  float of[n];
};

template <size_t n>
constexpr Table<n> table_of(const std::array<float, n>& values) {
  Table<n> table{};
  for (size_t i = 0; i < n; ++i) table.of[i] = values[i];
  return table;
}

// For copies in functions, whose numbers then are parts of instructions.
inline constexpr Table<8> kCodebook3 = table_of(kCentroids3);
inline constexpr Table<16> kCodebook4 = table_of(kCentroids4);
inline constexpr Table<15> kPolarCodeBounds = table_of(kPolarBoundaries);

// In memory, for indices that differ from lane to lane.
static __device__ const Table<8> kLevels3 = kCodebook3;
static __device__ const Table<16> kLevels4 = kCodebook4;
static __device__ const Table<16> kPolarLevels = table_of(kPolarCentroids);
static __device__ const Table<32> kSignsOf32 = table_of(kSigns32);
static __device__ const Table<128> kSignsBefore128 = table_of(kSigns128Before);
static __device__ const Table<128> kSignsAfter128 = table_of(kSigns128After);
static __device__ const Table<128> kPolarResidualSigns = table_of(kPolarResidual);

inline constexpr int kTrellisSize = 512;
static __device__ const float kTrellisLevels[kTrellisSize] = {
#include "quant/tcq_codebook.inc"
};

}  // namespace parlance::cuda
