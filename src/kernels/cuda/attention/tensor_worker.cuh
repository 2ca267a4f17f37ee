// attention for answers and drafts on tensor cores: a block takes the query heads of one KV head, of a token
// or of some of a draft, and some segments of the keys, or all of them. Each of its warps has a quarter of a
// segment (two for many rows), and keys and values on their way to shared memory of its own while it works on
// those before.
#pragma once

#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/unpack.cuh"
#include "kernels/cuda/kv_transform.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

inline constexpr int kStepKeys = 16;  // of a warp

// Where a warp is among its keys.
struct Cursor {
  int segment, step;

  // The next one that has keys, from here on.
  __device__ void settle(const WarpKeys& keys, int last_segment) {
    while (segment < last_segment && step >= keys.n_steps(segment, kStepKeys)) ++segment, step = 0;
  }
};

// A warp takes up to sixteen rows; with more, two warps share the keys of a quarter.
template <template <class, int, int, int, int> class Source, class Half, int kDim, int kMostRows>
class TensorWorker {
  static constexpr int kSides = kMostRows > 8 ? 2 : 1;
  static constexpr int kGroups = kMostRows > 16 ? 2 : 1;
  static constexpr bool kUnpacks = Source<Half, kDim, kStepKeys, 32 * kGroups, 1>::kUnpacks;

 public:
  static constexpr int kRows = kMostRows, kHeadDim = kDim, kThreads = kGroups * kDecodeThreads;
  static constexpr int kStages = kGroups == 1 && !kUnpacks ? 2 : 3;
  static constexpr int kBuffers = kGroups == 1 ? 2 : 1;

 private:
  using Blocks = Source<Half, kHeadDim, kStepKeys, 32 * kGroups, kStages>;
  struct FloatShared {
    typename Blocks::Shared sources[kDecodeWarps];
    Quarters<kRows, kHeadDim, kBuffers> quarters;
  };
  struct PackedShared : FloatShared {
    alignas(16) Levels levels;
  };

 public:
  // Behind it lie the bytes that are to be unpacked, in as many stages for each warp of a segment.
  using Shared = std::conditional_t<kUnpacks, PackedShared, FloatShared>;

  __device__ TensorWorker(const Params& p, Shared& shared, const Walk& walk, const TokenRun& run,
                          const SegmentRange& range, const BlockRows& rows)
      : p_(p),
        shared_(shared),
        source_(p, shared.sources[threadIdx.x / 32 % kDecodeWarps],
                reinterpret_cast<std::byte*>(&shared + 1) +
                    threadIdx.x / 32 % kDecodeWarps * kStages * packed_stage_bytes(p, kStepKeys)),
        walk_(walk),
        keys_{run.segment_keys / kDecodeWarps, run.n_keys, static_cast<int>(threadIdx.x) / 32 % kDecodeWarps},
        group_(threadIdx.x / kDecodeThreads),
        last_segment_(range.last),
        ahead_{range.first, 0} {
    const float* queries = p.q;
    if constexpr (kUnpacks) {
      shared.levels.fill(p);
      if (p.k_transform != KvTransform::none) queries = transform_queries(rows);
    }
#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage) load_next(stage);
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
      const bool exists = rows.exists(row(side));
      const int token = exists ? rows.token(row(side)) : 0, head = exists ? rows.head(row(side)) : 0;
      const float* const q = queries == p.q ? p.q + (static_cast<int64_t>(token) * p.n_head + head) * kHeadDim
                                            : queries + (exists ? row(side) : 0) * kHeadDim;
      rows_.start(q, p.scale, side, exists ? visible_keys(p, token) : 0, exists);
    }
    if (queries != p.q) __syncthreads();  // they lie where segments are left
  }

  __device__ void add_segment(int segment, int buffer) {
    rows_.start_segment();
    const int n_steps = keys_.n_steps(segment, kStepKeys);
    for (int step = 0; step < n_steps; ++step) {
      load_next((stage_ + kStages - 1) % kStages);
      wait_for_copies<kStages - 1>();
      wait_for_quarter();
      const int first = keys_.first(segment) + step * kStepKeys;
      if constexpr (kUnpacks) {
        source_.unpack(p_, shared_.levels, stage_, first, keys_.n_keys, thread_of_quarter());
        wait_for_quarter();
      }
      rows_.add(source_.block(stage_), first, keys_.n_keys);
      wait_for_quarter();
      stage_ = (stage_ + 1) % kStages;
    }
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
      float sum = rows_.sum[side];
      for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
      if (row(side) >= kRows) continue;
      const int in_row = 2 * (threadIdx.x % 4);
      float* out = &shared_.quarters.out[buffer][keys_.warp][row(side)][in_row];
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i)
        *reinterpret_cast<float2*>(out + 8 * i) =
            make_float2(rows_.out[i][2 * side], rows_.out[i][2 * side + 1]);
      if (in_row == 0)
        shared_.quarters.stats[buffer][keys_.warp][row(side)] = make_float2(rows_.largest[side], sum);
    }
  }

 private:
  // Those of the tile's rows, in shared memory.
  __device__ const float* transform_queries(const BlockRows& rows) {
    auto* const queries = reinterpret_cast<float*>(&shared_.quarters);
    static_assert(kRows * kHeadDim * sizeof(float) <= sizeof shared_.quarters);
    for (int row = threadIdx.x / 32; row < kRows && rows.exists(row); row += kThreads / 32) {
      const int lane = threadIdx.x % 32;
      const float* const q =
          p_.q + (static_cast<int64_t>(rows.token(row)) * p_.n_head + rows.head(row)) * kHeadDim;
      float* const x = queries + row * kHeadDim;
      for (int i = lane; i < kHeadDim; i += 32) x[i] = q[i];
      __syncwarp();
      to_stored_by_warp(p_.k_transform, x, kHeadDim, lane);
    }
    __syncthreads();
    return queries;
  }

  __device__ int row(int side) const {
    return group_ * 16 + side * 8 + static_cast<int>(threadIdx.x) % 32 / 4;
  }

  __device__ int thread_of_quarter() const {
    return group_ * 32 + static_cast<int>(threadIdx.x) % 32;
  }

  __device__ void load_next(int stage) {
    ahead_.settle(keys_, last_segment_);
    if (ahead_.segment < last_segment_) {
      const int first = keys_.first(ahead_.segment) + ahead_.step * kStepKeys;
      source_.copy(p_, walk_, stage, first, keys_.n_keys, thread_of_quarter());
      ++ahead_.step;
    }
    end_copy_group();
  }

  // The warps that share this quarter's keys.
  __device__ void wait_for_quarter() const {
    if constexpr (kGroups == 1) {
      __syncwarp();
    } else {
      asm volatile("bar.sync %0, %1;" ::"r"(1 + keys_.warp), "r"(32 * kGroups) : "memory");
    }
  }

  const Params& p_;
  Shared& shared_;
  Blocks source_;
  const Walk walk_;
  const WarpKeys keys_;
  const int group_;
  const int last_segment_;
  Cursor ahead_;
  int stage_ = 0;
  WarpRows<Half, kHeadDim, kStepKeys, kSides> rows_;
};

template <class Worker>
__global__ void __launch_bounds__(Worker::kThreads) decode_on_tensor_cores(const __grid_constant__ Params p) {
  extern __shared__ uint4 dynamic[];
  decode_tile<Worker>(p, *reinterpret_cast<typename Worker::Shared*>(dynamic));
}

// Calls visit(rows of a block) for tiles of so many rows.
template <class Visit>
auto with_rows(int n_rows, const Visit& visit) {
  if (n_rows <= 2) return visit(std::integral_constant<int, 2>());
  if (n_rows <= 4) return visit(std::integral_constant<int, 4>());
  if (n_rows <= kDecodeHeads) return visit(std::integral_constant<int, kDecodeHeads>());
  return visit(std::integral_constant<int, kDraftRows>());
}

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
size_t shared_bytes_of_worker(int n_rows, size_t packed_row_bytes) {
  return with_rows(n_rows, [&](auto rows) {
    using Worker = TensorWorker<Source, Half, kHeadDim, decltype(rows)::value>;
    return sizeof(typename Worker::Shared) + packed_row_bytes * kDecodeWarps * Worker::kStages * kStepKeys;
  });
}

// `packed_row_bytes`: of a key and a value that are unpacked, or 0.
template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
void launch_workers(Stream& stream, const Params& params, int64_t n_head_kv, size_t packed_row_bytes) {
  const dim3 grid(static_cast<unsigned>(blocks_of_tiles(params)),
                  static_cast<unsigned>(n_head_kv * params.tiling.parts));
  const int n_rows = params.tiling.heads * params.tiling.tokens;
  with_rows(n_rows, [&](auto rows) {
    using Worker = TensorWorker<Source, Half, kHeadDim, decltype(rows)::value>;
    launch(stream, decode_on_tensor_cores<Worker>,
           {.grid = grid,
            .block = dim3(Worker::kThreads),
            .shared_bytes = shared_bytes_of_worker<Source, Half, kHeadDim>(n_rows, packed_row_bytes)},
           params);
  });
}

}  // namespace parlance::cuda::attention
