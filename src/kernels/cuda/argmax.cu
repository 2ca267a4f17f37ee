// argmax on CUDA: several blocks share a row, and the last of them looks at what they have found.
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cstdint>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
// Parts of a row, at most: a warp looks at what they have found. Of few rows, as many as keep the GPU busy,
// unless there is a sum, which tells how a row was cut.
constexpr int kParts = 32, kMostParts = 4 * kParts, kFewRows = 4;
constexpr int kLeastElements = 4 * kThreads;  // of a part
constexpr int kAtOnce = 8;                    // elements that a thread has on their way

// The best of some elements; index -1 stands above all, and says that one was no number. `sum`: of e to the
// power of what each element differs from it, if that is wanted.
struct Found {
  float value;
  int index;
  float sum;

  template <bool kHasSum>
  __device__ Found with(const Found& other) const {
    if (index < 0 || other.index < 0) return {value, -1, 0};
    const bool is_other = other.value > value || (other.value == value && other.index < index);
    Found best = is_other ? other : *this;
    if constexpr (kHasSum) {
      const Found& less = is_other ? *this : other;
      best.sum += less.sum * expf(less.value - best.value);
    }
    return best;
  }
};

// Floats as integers that are ordered as they are; of zeros there is one.
__device__ uint32_t ordered(float x) {
  const uint32_t bits = __float_as_uint(x + 0.0f);
  return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}
__device__ float float_of(uint32_t ordered) {
  return __uint_as_float(ordered & 0x80000000 ? ordered & 0x7fffffff : ~ordered);
}

template <bool kHasSum>
__device__ Found best_of_warp(Found found) {
  if constexpr (kHasSum) {
    for (int mask = 16; mask > 0; mask /= 2) {
      const Found other{__shfl_xor_sync(kAllLanes, found.value, mask),
                        __shfl_xor_sync(kAllLanes, found.index, mask),
                        __shfl_xor_sync(kAllLanes, found.sum, mask)};
      found = found.template with<true>(other);
    }
    return found;
  } else {
    // Two instructions wait for all lanes, where shuffles would be ten.
    const uint32_t own = found.index < 0 ? UINT32_MAX : ordered(found.value);
    const uint32_t best = __reduce_max_sync(kAllLanes, own);
    return {float_of(best), __reduce_min_sync(kAllLanes, own == best ? found.index : INT_MAX), 0};
  }
}

// What is told of a row.
enum class Tell { index, share, next };

// Whether an element comes behind the one that was found before it.
struct Behind {
  int before;  // -1: there is nothing behind it
  float value;

  __device__ Behind(const float* row, int index) : before(index), value(index < 0 ? 0 : row[index]) {}
  __device__ bool operator()(float other, int64_t i) const {
    return before >= 0 && (other < value || (other == value && i > before));
  }
};

// Block (part, row). Each row has n_told numbers in `out`; with Tell::next, those of the rank before are two
// numbers before `out`.
template <Tell tell>
__global__ void __launch_bounds__(kThreads)
    find_largest(const float* x, int64_t n, Found* found_by, int* arrived, int32_t* out, int n_told) {
  constexpr bool kHasSum = tell == Tell::share;
  __shared__ Found of_warps[kWarps];
  let_next_start();
  const int part = blockIdx.x, row = blockIdx.y, n_parts = gridDim.x, lane = threadIdx.x % 32;
  constexpr Found kNone{-FLT_MAX, INT_MAX, 0};
  Found found = kNone;
  out += static_cast<int64_t>(row) * n_told;
  x += row * n;
  const int first = static_cast<int>(n * part / n_parts), end = static_cast<int>(n * (part + 1) / n_parts);
  wait_for_previous();
  const Behind is_behind(x, tell == Tell::next ? out[-2] : -1);
#pragma unroll 1
  for (int i = first + static_cast<int>(threadIdx.x); i < end; i += kAtOnce * kThreads) {
    float values[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) values[j] = i + j * kThreads < end ? x[i + j * kThreads] : 0;
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const int index = i + j * kThreads;
      if (index >= end) break;
      if constexpr (tell == Tell::next) {
        if (is_behind(values[j], index)) found = found.template with<false>({values[j], index, 0});
      } else {
        found = found.template with<kHasSum>({values[j], isfinite(values[j]) ? index : -1, 1});
      }
    }
  }
  found = best_of_warp<kHasSum>(found);
  if (lane == 0) of_warps[threadIdx.x / 32] = found;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  found = best_of_warp<kHasSum>(lane < kWarps ? of_warps[lane] : kNone);
  int n_arrived = 0;
  if (lane == 0) {
    found_by[row * n_parts + part] = found;
    __threadfence();
    n_arrived = atomicAdd(arrived + row, 1) + 1;
    if (n_arrived == n_parts) arrived[row] = 0;
    __threadfence();
  }
  if (__shfl_sync(kAllLanes, n_arrived, 0) != n_parts) return;
  const volatile Found* const of_row = found_by + row * n_parts;
  Found of_parts[kMostParts / 32];
#pragma unroll
  for (int i = 0; i < kMostParts / 32; ++i) {
    const volatile Found& of = of_row[lane + 32 * i];
    of_parts[i] = lane + 32 * i < n_parts ? Found{of.value, of.index, kHasSum ? of.sum : 0} : kNone;
  }
  found = of_parts[0];
#pragma unroll
  for (int i = 1; i < kMostParts / 32; ++i) found = found.template with<kHasSum>(of_parts[i]);
  found = best_of_warp<kHasSum>(found);
  if (lane != 0) return;
  if constexpr (tell == Tell::next) {
    const bool is_none = found.index == INT_MAX;
    out[0] = is_none ? -1 : found.index;
    out[1] = is_none ? 0 : __float_as_int(__int_as_float(out[-1]) * expf(found.value - is_behind.value));
  } else {
    out[0] = found.index;
    if (kHasSum) out[1] = __float_as_int(found.index < 0 ? 0.0f : 1 / found.sum);
  }
}

int parts_of(const ArgmaxArgs& args) {
  const bool has_sum = args.out.ne[0] > 1;
  const int64_t most = args.x.n_rows() <= kFewRows && !has_sum ? kMostParts : kParts;
  return static_cast<int>(std::clamp<int64_t>(args.x.ne[0] / kLeastElements, 1, most));
}

void run_argmax(Stream& stream, const ArgmaxArgs& args) {
  const int64_t n = args.x.ne[0], n_rows = args.x.n_rows();
  const int n_parts = parts_of(args);
  for (int64_t first = 0; first < n_rows; first += kCounters) {
    const int64_t n_some = std::min<int64_t>(kCounters, n_rows - first);
    launch(stream,
           args.rank > 0        ? find_largest<Tell::next>
           : args.out.ne[0] > 1 ? find_largest<Tell::share>
                                : find_largest<Tell::index>,
           {.grid = dim3(static_cast<unsigned>(n_parts), static_cast<unsigned>(n_some)),
            .block = dim3(kThreads)},
           args.x.as<const float>() + first * n, n, reinterpret_cast<Found*>(scratch_of(stream)),
           counters_of(stream), args.out.as<int32_t>() + first * args.out.ne[0] + 2 * args.rank,
           static_cast<int>(args.out.ne[0]));
  }
}

size_t scratch_of_argmax(const ArgmaxArgs& args, int) {
  return static_cast<size_t>(std::min<int64_t>(args.x.n_rows(), kCounters)) * kMostParts * sizeof(Found);
}

}  // namespace

void fill_argmax(OpTable& table) {
  table.argmax = {run_argmax, scratch_of_argmax};
}

}  // namespace parlance::cuda
