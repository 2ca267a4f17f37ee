// One thread for each element (or pair), in a loop when there are more than a grid may have; and the same for
// rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

inline constexpr int64_t kElementThreads = 256;
inline constexpr int64_t kMaxElementBlocks = 1 << 20;

inline Shape shape_of_elements(int64_t n) {
  const int64_t n_blocks = std::min((n + kElementThreads - 1) / kElementThreads, kMaxElementBlocks);
  return {.grid = dim3(static_cast<unsigned>(n_blocks)), .block = dim3(kElementThreads)};
}

// For rows of n values: threads along x are those of a row, along y they are rows.
inline Shape shape_of_rows(int64_t n, int64_t n_rows) {
  int64_t along_row = 32;
  while (along_row < n && along_row < kElementThreads) along_row *= 2;
  const int64_t rows = kElementThreads / along_row;
  const int64_t n_blocks = std::min((n_rows + rows - 1) / rows, kMaxElementBlocks);
  return {.grid = dim3(static_cast<unsigned>(n_blocks)),
          .block = dim3(static_cast<unsigned>(along_row), static_cast<unsigned>(rows))};
}

template <class Body>
__device__ void for_each_element(int64_t n, const Body& body) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) body(i);
}

}  // namespace parlance::cuda
