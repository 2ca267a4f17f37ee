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

// The same of numbers that are not negative, whose bits are ordered as they are: one instruction waits for
// all lanes, where shuffles would be five. NaN stands above all.
__device__ inline float max_of_magnitudes(float magnitude) {
  return __uint_as_float(__reduce_max_sync(kAllLanes, __float_as_uint(magnitude)));
}

// The larger one; fmaxf() passes over NaN, this does not.
__device__ inline float max_or_nan(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}
__device__ inline float largest_magnitude(const float4& v) {
  return max_or_nan(max_or_nan(fabsf(v.x), fabsf(v.y)), max_or_nan(fabsf(v.z), fabsf(v.w)));
}
__device__ inline float max_or_nan_of_warp(float value) {
  for (int mask = 16; mask > 0; mask /= 2) value = max_or_nan(value, __shfl_xor_sync(kAllLanes, value, mask));
  return value;
}

// Lanes (whole warps of them) whose sums make that of a row of n elements.
inline constexpr int kMostRowLanes = 1024;
__host__ __device__ inline int row_lanes(int64_t n) {
  return n < kMostRowLanes ? static_cast<int>((n + 31) / 32 * 32) : kMostRowLanes;
}

// Sum of the squares of load(i) for i below n; keep(i, value) follows each, some loads later. The order is
// that of row_lanes(n) lanes, which the block's threads take turns at, however many there are. `partial` is
// shared memory for one float of each warp of lanes.
template <class Load, class Keep>
__device__ float sum_of_squares(int64_t n, float* partial, const Load& load, const Keep& keep) {
  constexpr int kAtOnce = 4;
  const int n_lanes = row_lanes(n);
  for (int lane = threadIdx.x; lane < n_lanes; lane += blockDim.x) {
    float sum = 0;
    for (int64_t first = lane; first < n; first += kAtOnce * n_lanes) {
      float values[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        values[j] = first + j * n_lanes < n ? load(first + j * n_lanes) : 0.0f;
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        if (first + j * n_lanes >= n) break;
        keep(first + j * n_lanes, values[j]);
        sum = fmaf(values[j], values[j], sum);
      }
    }
    sum = sum_of_warp(sum);
    if (lane % 32 == 0) partial[lane / 32] = sum;
  }
  __syncthreads();
  return sum_of_warp(threadIdx.x % 32 < n_lanes / 32 ? partial[threadIdx.x % 32] : 0.0f);
}

}  // namespace parlance::cuda
