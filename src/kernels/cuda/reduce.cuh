// Sums and maxima over the threads of a warp or a block; every thread gets the result.
#pragma once

namespace parlance::cuda {

inline constexpr unsigned kAllLanes = 0xffffffff;

__device__ inline float sum_of_warp(float value) {
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(kAllLanes, value, mask);
  return value;
}

__device__ inline float max_of_warp(float value) {
  for (int mask = 16; mask > 0; mask /= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, mask));
  return value;
}

// `partial` is shared memory for one float of each warp; the block is made of whole warps.
__device__ inline float sum_of_block(float value, float* partial) {
  value = sum_of_warp(value);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : 0.0f;
  return sum_of_warp(value);
}

}  // namespace parlance::cuda
