// attention for answers and drafts on tensor cores: a block takes the query heads of one KV head, of a token
// or of some of a draft, and some segments of the keys, or all of them. Each of its warps has a quarter of a
// segment (two for many rows), and keys and values on their way to shared memory of its own while it works on
// those before.
#pragma once

#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/unpack.cuh"
#include "kernels/cuda/kept_head.cuh"
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

// A warp takes up to sixteen rows; with more, two warps share the keys of a quarter. May have code for a
// Preparation.
template <template <class, int, int, int, int> class Source, class Half, int kDim, int kMostRows,
          bool kHasPreparation = false>
class TensorWorker {
  static constexpr int kSides = kMostRows > 8 ? 2 : 1;
  static constexpr int kGroups = kMostRows > 16 ? 2 : 1;

 public:
  static constexpr int kRows = kMostRows, kHeadDim = kDim, kThreads = kGroups * kDecodeThreads;
  static constexpr int kStages = kGroups == 1 ? 2 : 3;
  static constexpr int kBuffers = kGroups == 1 ? 2 : 1;

 private:
  using Blocks = Source<Half, kHeadDim, kStepKeys, 32 * kGroups, kStages>;

 public:
  static constexpr bool kPrepares = kHasPreparation;

  struct Shared {
    typename Blocks::Shared sources[kDecodeWarps];
    Quarters<kRows, kHeadDim, kBuffers> quarters;
    float queries[kPrepares ? kMostRows : 1][kHeadDim];  // prepared
  };

  // What heads are multiplied with, which no kernel writes.
  struct Norms {
    KeptNorm q, k;
    __device__ explicit Norms(const Params& p)
        : q(kPrepares ? p.preparation.q_norm : nullptr, threadIdx.x % 32),
          k(kPrepares ? p.preparation.k_norm : nullptr, threadIdx.x % 32) {}
  };

  __device__ TensorWorker(const Params& p, Shared& shared, const Walk& walk, const TokenRun& run,
                          const SegmentRange& range)
      : p_(p),
        shared_(shared),
        source_(p, shared.sources[threadIdx.x / 32 % kDecodeWarps], nullptr),
        walk_(walk),
        keys_{run.segment_keys / kDecodeWarps, run.n_keys, static_cast<int>(threadIdx.x) / 32 % kDecodeWarps},
        group_(threadIdx.x / kDecodeThreads),
        last_segment_(range.last),
        ahead_{range.first, 0} {}

  // Has keys and values of the first n_keys on their way, as far as they come first.
  static constexpr bool kStartsEarly = true;
  __device__ void start_before(int n_keys) {
    while (n_started_ < kStages - 1) {
      ahead_.settle(keys_, last_segment_);
      const int first = keys_.first(ahead_.segment) + ahead_.step * kStepKeys;
      if (ahead_.segment < last_segment_ && first + kStepKeys > n_keys) return;
      load_next(n_started_++);
    }
  }

  // By the whole block, a warp for each head: what norm_rope_write() does, queries for this block alone. Keys
  // and values are written by who reads them.
  __device__ void prepare(const Norms& norms, const BlockRows& rows, int head_kv, bool has_last_keys) {
    const Preparation& of = p_.preparation;
    const int lane = threadIdx.x % 32, n_written = has_last_keys ? 2 : 0, pos = p_.pos[0];
    const auto write = [&](const std::byte* to, const float(&x)[2 * kKeptPairs]) {
      auto* const row = reinterpret_cast<Half*>(const_cast<std::byte*>(to));
#pragma unroll
      for (int i = 0; i < 2 * kKeptPairs; ++i) row[lane + 32 * i] = rounded(x[i]);
    };
    for (int i = threadIdx.x / 32; i < rows.n_heads + n_written; i += kThreads / 32) {
      const int query = i - n_written;
      if (query >= 0) {
        const float* const q = p_.q + (rows.first_head + query) * kHeadDim;
        KeptHead(q, of.q_norm, norms.q, of.angles, of.eps, lane).store(shared_.queries[query], lane);
      } else if (i == 0) {
        write(walk_.k_row(p_, pos),
              KeptHead(of.k + head_kv * kHeadDim, of.k_norm, norms.k, of.angles, of.eps, lane).x);
      } else {
        float v[2 * kKeptPairs];
#pragma unroll
        for (int j = 0; j < 2 * kKeptPairs; ++j) v[j] = of.v[head_kv * kHeadDim + lane + 32 * j];
        write(walk_.v_row(p_, pos), v);
      }
    }
    __syncthreads();
  }

  __device__ void start(const BlockRows& rows) {
    while (n_started_ < kStages - 1) load_next(n_started_++);
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
      const bool exists = rows.exists(row(side));
      const int token = exists ? rows.token(row(side)) : 0, head = exists ? rows.head(row(side)) : 0;
      const float* query = p_.q + (static_cast<int64_t>(token) * p_.n_head + head) * kHeadDim;
      if (kPrepares) query = shared_.queries[exists ? row(side) : 0];
      rows_.start(query, p_.scale, side, exists ? visible_keys(p_, token) : 0, exists);
    }
  }

  __device__ void add_segment(int segment, int buffer) {
    rows_.start_segment();
    const int n_steps = keys_.n_steps(segment, kStepKeys);
    for (int step = 0; step < n_steps; ++step) {
      load_next((stage_ + kStages - 1) % kStages);
      wait_for_copies<kStages - 1>();
      wait_for_quarter();
      const int first = keys_.first(segment) + step * kStepKeys;
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
  __device__ static Half rounded(float x) {
    if constexpr (std::is_same_v<Half, __half>) {
      return __float2half_rn(x);
    } else {
      return __float2bfloat16_rn(x);
    }
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
  int stage_ = 0, n_started_ = 0;
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

// The worker for so many rows of a block; only those of one token have code for a Preparation.
template <template <class, int, int, int, int> class Source, class Half, int kHeadDim, int kRows,
          bool kHasPreparation>
using WorkerFor = TensorWorker<Source, Half, kHeadDim, kRows,
                               kHasPreparation && kHeadDim == kPreparedDim && kRows <= kDecodeHeads>;

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
size_t shared_bytes_of_worker(int n_rows) {
  return with_rows(n_rows, [](auto rows) {
    return sizeof(typename WorkerFor<Source, Half, kHeadDim, decltype(rows)::value, true>::Shared);
  });
}

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
void launch_workers(Stream& stream, const Params& params, int64_t n_head_kv) {
  const dim3 grid(static_cast<unsigned>(blocks_of_tiles(params)),
                  static_cast<unsigned>(n_head_kv * params.tiling.parts));
  const auto launch_with = [&](auto has_preparation) {
    with_rows(params.tiling.heads * params.tiling.tokens, [&](auto rows) {
      using Worker =
          WorkerFor<Source, Half, kHeadDim, decltype(rows)::value, decltype(has_preparation)::value>;
      launch(stream, decode_on_tensor_cores<Worker>,
             {.grid = grid, .block = dim3(Worker::kThreads), .shared_bytes = sizeof(typename Worker::Shared)},
             params);
    });
  };
  if (params.preparation.k) {
    launch_with(std::true_type());
  } else {
    launch_with(std::false_type());
  }
}

}  // namespace parlance::cuda::attention
