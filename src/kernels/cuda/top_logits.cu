// top_logits on CUDA. Lanes that share a row look at it once and tell the highest logit that each of their
// groups has met: no fewer than k logits are as high as the k-th of these, and hardly more, and all of them
// lie in groups that have met such a one. A block of the row then looks at those groups again, and sorts.
#include <algorithm>
#include <cfloat>
#include <cstdint>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kParts = 64;                // of a row, at most: one block each
constexpr int kLeastElements = kThreads;  // of a part
constexpr int kGroupLanes = 16;
constexpr int kGroups = kThreads / kGroupLanes;  // of a part
constexpr int kAtOnce = 8;                       // elements of a lane that are loaded before one is looked at

constexpr int kSortThreads = 1024;
constexpr int kMostFound = 2048;
static_assert(kParts * kGroups <= kSortThreads);
// Where a row has fewer groups than are wanted, all of it fits.
static_assert((kMostTopLogits / kGroups) * kLeastElements <= kMostFound);

// What a part of a row adds up to; `is_bad`: it has an element that is no number or infinite.
struct Seen {
  float highest, sum;  // of e^(x - highest)
  int is_bad;

  __device__ void add(const Seen& other) {
    const float most = fmaxf(highest, other.highest);
    sum = sum * expf(highest - most) + other.sum * expf(other.highest - most);
    highest = most;
    is_bad |= other.is_bad;
  }
};
// No logit is lower: of a group without any, this is the highest.
__device__ Seen nothing_seen() {
  return {-FLT_MAX, 0, 0};
}

__device__ Seen all_of_warp(Seen seen) {
  for (int mask = 16; mask > 0; mask /= 2) {
    seen.add({__shfl_xor_sync(kAllLanes, seen.highest, mask), __shfl_xor_sync(kAllLanes, seen.sum, mask),
              __shfl_xor_sync(kAllLanes, seen.is_bad, mask)});
  }
  return seen;
}

// Unsigned numbers in the order of floats, both zeros being equal; 0 is none of them.
__device__ uint32_t rank_of(float value) {
  const uint32_t bits = value == 0 ? 0 : __float_as_uint(value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// In the order in which logits are told, the highest key first: no two are equal.
__device__ uint64_t key_of(float value, int64_t i) {
  return static_cast<uint64_t>(rank_of(value)) << 32 | (0xffffffffu - static_cast<uint32_t>(i));
}

// What is left by the first kernel for the second: of each row.
struct Scratch {
  Seen* seen;         // [n_parts]
  uint32_t* highest;  // [n_parts * kGroups], ranks
};
__host__ __device__ Scratch scratch_at(std::byte* scratch, int64_t n_rows) {
  auto* const seen = reinterpret_cast<Seen*>(scratch);
  return {seen, reinterpret_cast<uint32_t*>(seen + n_rows * kParts)};
}

// Elements [first, end) of part `part` of n_parts.
struct PartRange {
  int64_t first, end;
  __device__ PartRange(int64_t n, int part, int n_parts)
      : first(n * part / n_parts), end(n * (part + 1) / n_parts) {}
};

// Block (part, row).
__global__ void __launch_bounds__(kThreads) look_at_parts(const float* x, int64_t n, Scratch scratch) {
  __shared__ Seen of_warps[kWarps];
  let_next_start();
  wait_for_previous();
  const int part = blockIdx.x, row = blockIdx.y, n_parts = gridDim.x, lane = threadIdx.x % 32;
  const PartRange range(n, part, n_parts);
  Seen seen = nothing_seen();
  for (int64_t first = range.first + threadIdx.x; first < range.end; first += kAtOnce * kThreads) {
    float values[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j)  // the last one again where there is none
      values[j] = x[row * n + min(first + j * kThreads, range.end - 1)];
    Seen some = nothing_seen();
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      some.is_bad |= !isfinite(values[j]);
      if (first + j * kThreads < range.end) some.highest = fmaxf(some.highest, values[j]);
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      if (first + j * kThreads < range.end) some.sum += expf(values[j] - some.highest);
    }
    seen.add(some);
  }
  uint32_t highest = rank_of(seen.highest);
  for (int mask = kGroupLanes / 2; mask > 0; mask /= 2)
    highest = max(highest, __shfl_xor_sync(kAllLanes, highest, mask));
  if (threadIdx.x % kGroupLanes == 0)
    scratch.highest[(row * n_parts + part) * kGroups + threadIdx.x / kGroupLanes] = highest;
  seen = all_of_warp(seen);
  if (lane == 0) of_warps[threadIdx.x / 32] = seen;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  seen = all_of_warp(lane < kWarps ? of_warps[lane] : nothing_seen());
  if (lane == 0) scratch.seen[row * n_parts + part] = seen;
}

struct Sorting {
  int groups[kParts * kGroups];  // those that are looked at again
  uint64_t found[kMostFound];    // keys
  int n_groups, n_found;
};

// By a whole block: the k-th highest of the ranks that its threads have, which are 0 where there is none; 0
// where there are not as many.
__device__ uint32_t kth_highest(uint32_t own, int k) {
  uint32_t least = 0;
  for (uint32_t bit = 1u << 31; bit > 0; bit /= 2) {
    if (__syncthreads_count(own >= (least | bit)) >= k) least |= bit;
  }
  return least;
}

// Calls take(key) for all elements of the groups that are looked at again.
template <class Take>
__device__ void for_each_element(const float* x, int64_t n, int n_parts, const Sorting& s, const Take& take) {
  const int own = threadIdx.x / kGroupLanes, lane = threadIdx.x % kGroupLanes;
  for (int j = own; j < s.n_groups; j += kSortThreads / kGroupLanes) {
    const int group = s.groups[j];
    const PartRange range(n, group / kGroups, n_parts);
#pragma unroll 4
    for (int64_t i = range.first + group % kGroups * kGroupLanes + lane; i < range.end; i += kThreads)
      take(key_of(x[i], i));
  }
}

// Leaves in `found` all whose key is `least` or more, as far as there is room, and their number in n_found.
__device__ void find_from(const float* x, int64_t n, int n_parts, uint64_t least, Sorting& s) {
  __syncthreads();
  if (threadIdx.x == 0) s.n_found = 0;
  __syncthreads();
  for_each_element(x, n, n_parts, s, [&](uint64_t key) {
    if (key < least) return;
    const int at = atomicAdd(&s.n_found, 1);
    if (at < kMostFound) s.found[at] = key;
  });
  __syncthreads();
}

// How many there are.
__device__ int count_from(const float* x, int64_t n, int n_parts, uint64_t least, Sorting& s) {
  int n_own = 0;
  for_each_element(x, n, n_parts, s, [&](uint64_t key) { n_own += key >= least; });
  __syncthreads();
  if (threadIdx.x == 0) s.n_found = 0;
  __syncthreads();
  if (n_own > 0) atomicAdd(&s.n_found, n_own);
  __syncthreads();
  return s.n_found;
}

// A block for each row.
__global__ void __launch_bounds__(kSortThreads)
    tell_top(const float* all, int64_t n_all, int n_parts, Scratch scratch, int32_t* out, int k) {
  __shared__ Sorting s;
  let_next_start();
  wait_for_previous();
  const int row = blockIdx.x, thread = threadIdx.x;
  const float* const x = all + row * n_all;
  out += static_cast<int64_t>(row) * (2 + 2 * k);
  const int n_groups = n_parts * kGroups;
  if (thread == 0) s.n_groups = 0;
  const uint32_t own = thread < n_groups ? scratch.highest[row * n_groups + thread] : 0;
  if (thread < 32) {
    Seen whole = nothing_seen();
    for (int part = thread; part < n_parts; part += 32) whole.add(scratch.seen[row * n_parts + part]);
    whole = all_of_warp(whole);
    if (thread == 0) {
      out[0] = whole.is_bad ? -1 : k;
      out[1] = __float_as_int(whole.sum);
    }
  }
  const uint32_t least_of_groups = kth_highest(own, k);
  if (thread < n_groups && own >= least_of_groups) s.groups[atomicAdd(&s.n_groups, 1)] = thread;
  uint64_t least = static_cast<uint64_t>(least_of_groups) << 32;
  find_from(x, n_all, n_parts, least, s);
  if (s.n_found > kMostFound) {
    // Too many are equal, or groups have many of the highest: a key is found by halves that enough have, and
    // not too many. From `least` on there are k or more, from `most` on fewer.
    uint64_t most = ~uint64_t{0};
    int n_from = s.n_found;
    while (most - least > 1 && n_from > kMostFound) {
      const uint64_t middle = least + (most - least) / 2;
      const int n = count_from(x, n_all, n_parts, middle, s);
      (n >= k ? least : most) = middle;
      if (n >= k) n_from = n;
    }
    find_from(x, n_all, n_parts, least, s);
  }

  const int n_found = s.n_found;
  for (int i = thread; i < n_found; i += kSortThreads) {
    const uint64_t key = s.found[i];
    int n_before = 0;
#pragma unroll 4
    for (int j = 0; j < n_found; ++j) n_before += s.found[j] > key;
    if (n_before >= k) continue;
    const auto index = static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(key));
    out[2 + n_before] = index;
    out[2 + k + n_before] = __float_as_int(x[index]);
  }
}

int parts_of(const TopLogitsArgs& args) {
  return static_cast<int>(std::clamp<int64_t>(args.x.ne[0] / kLeastElements, 1, kParts));
}

constexpr int64_t kMostRows = 65535;  // of a launch

void run_top_logits(Stream& stream, const TopLogitsArgs& args) {
  const int64_t n = args.x.ne[0], n_rows = args.x.n_rows();
  const int n_parts = parts_of(args);
  for (int64_t first = 0; first < n_rows; first += kMostRows) {
    const auto n_some = static_cast<unsigned>(std::min<int64_t>(kMostRows, n_rows - first));
    const Scratch scratch = scratch_at(scratch_of(stream), std::min(n_rows, kMostRows));
    const float* const x = args.x.as<const float>() + first * n;
    launch(stream, look_at_parts,
           {.grid = dim3(static_cast<unsigned>(n_parts), n_some), .block = dim3(kThreads)}, x, n, scratch);
    launch(stream, tell_top, {.grid = dim3(n_some), .block = dim3(kSortThreads)}, x, n, n_parts, scratch,
           args.out.as<int32_t>() + first * args.out.ne[0], static_cast<int>(args.k()));
  }
}

size_t scratch_of_top_logits(const TopLogitsArgs& args, int) {
  return static_cast<size_t>(std::min(args.x.n_rows(), kMostRows)) * kParts *
         (sizeof(Seen) + kGroups * sizeof(uint32_t));
}

}  // namespace

void fill_top_logits(OpTable& table) {
  table.top_logits = {run_top_logits, scratch_of_top_logits};
}

}  // namespace parlance::cuda
