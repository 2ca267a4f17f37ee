// attention for answers and drafts on tensor cores: a block takes the query heads of one KV head, of a token
// or of some of a draft, and some segments of the keys, or all of them. Each of its warps has a quarter of a
// segment (two for many rows), and keys and values on their way to shared memory of its own while it works on
// those before.
#pragma once

#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/head_rows.cuh"
#include "kernels/cuda/attention/keys_ahead.cuh"
#include "kernels/cuda/kept_head.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

// A warp's keys that come next: from `key` on of those of a segment, [first, end).
struct Cursor {
  int segment, first, key, end;

  __device__ Cursor(const WarpKeys& keys, int first_segment) : segment(first_segment) { start(keys); }
  // On to a segment that has keys of this warp, if there is one.
  __device__ void settle(const WarpKeys& keys, int last_segment) {
    while (key >= end && segment < last_segment) {
      ++segment;
      start(keys);
    }
  }

 private:
  __device__ void start(const WarpKeys& keys) {
    key = first = keys.first(segment);
    end = min(first + keys.per_warp, keys.n_keys);
  }
};

// A warp takes up to eight rows; of 32, two warps have sixteen each and share the keys of a quarter.
template <class Half, int kDim, int kMostRows, KnownRows kKnownRows = KnownRows::none>
class TensorWorker {
  static constexpr bool kHasFew = kMostRows <= 8;
  static constexpr int kGroups = kHasFew ? 1 : 2;

 public:
  static constexpr int kRows = kMostRows, kHeadDim = kDim, kThreads = kGroups * kDecodeThreads;
  static constexpr int kStages = kHasFew ? 2 : 3;
  static constexpr int kBuffers = 1;

 private:
  using Keys = Block<Half, kHeadDim, kStepKeys>;
  using Rows = std::conditional_t<kHasFew, HeadRows<Half, kHeadDim>, WarpRows<Half, kHeadDim, kStepKeys>>;

 public:
  static constexpr KnownRows kKnown = kKnownRows;
  static constexpr bool kPrepares = kKnown == KnownRows::prepared;
  static_assert(!kPrepares || kHasFew);
  using PreparedQuery = typename HeadRows<Half, kHeadDim>::SplitQuery;

  struct Shared {
    Keys blocks[kDecodeWarps][kStages];
    Quarters<kRows, kHeadDim, kBuffers> quarters;
    // Prepared: queries, and the newest key and value.
    PreparedQuery queries[kPrepares ? kMostRows : 1];
    alignas(16) Half newest[2][kPrepares ? kHeadDim : 8];
  };

  // What heads are multiplied with, which no kernel writes.
  struct Norms {
    KeptNorm q, k;
    __device__ explicit Norms(const Params& p)
        : q(kPrepares ? p.preparation.q_norm : nullptr, threadIdx.x % 32),
          k(kPrepares ? p.preparation.k_norm : nullptr, threadIdx.x % 32) {}

    __device__ KeptNorm of(bool is_query) const {
      KeptNorm norm = q;
#pragma unroll
      for (int i = 0; i < 2 * kKeptPairs; ++i) norm.of[i] = is_query ? q.of[i] : k.of[i];
      return norm;
    }
  };

  __device__ TensorWorker(const Params& p, Shared& shared, const Walk& walk, const TokenRun& run,
                          const SegmentRange& range)
      : p_(p),
        shared_(shared),
        walk_(walk),
        keys_{run.segment_keys / kDecodeWarps, run.n_keys, static_cast<int>(threadIdx.x) / 32 % kDecodeWarps},
        group_(threadIdx.x / kDecodeThreads),
        last_segment_(range.last),
        ahead_(keys_, range.first),
        to_copy_(thread_of_quarter()) {}

  // Has keys and values of the first n_keys on their way, as far as they come first. Where this block has all
  // of few, so many steps as there is room for; of many, the second one's page would delay those of all.
  static constexpr bool kStartsEarly = true;
  __device__ void start_before(int n_keys, bool is_split) {
    const int n_early = kPrepares && !is_split ? kStages : kStages - 1;
    while (n_started_ < n_early) {
      ahead_.settle(keys_, last_segment_);
      if (ahead_.segment < last_segment_ && ahead_.key + kStepKeys > n_keys) return;
      load_next(n_started_++);
    }
    const bool has_last_keys = last_segment_ * kDecodeWarps * keys_.per_warp >= keys_.n_keys;
    if (kPrepares && has_last_keys) {  // for others, a page that is looked up delays the keys of all
      const int newest = keys_.n_keys - 1;
      newest_row_ =
          const_cast<std::byte*>(warp() == kWarpOfKey ? walk_.k_row(p_, newest) : walk_.v_row(p_, newest));
    }
  }

  // By the whole block, a warp for each head: what norm_rope_write() does, queries for this block alone. The
  // newest key and value are written by who reads them.
  __device__ void prepare(const Norms& norms, const BlockRows& rows, int head_kv, bool has_last_keys) {
    const Preparation& of = p_.preparation;
    const int lane = threadIdx.x % 32;
    // Heads of queries follow the newest key and value, where these are there. A warp's next head is on its
    // way.
    const int n_written = has_last_keys ? 2 : 0, n_heads = rows.n_heads + n_written;
    const int token = rows.first_token, newest_head = newest_head_of(p_, token, head_kv);
    const float* const queries = p_.q + (token * p_.n_head + rows.first_head) * kHeadDim;
    const auto load = [&](int i) {
      const float* const newest = i == kWarpOfKey ? of.k : of.v;
      return KeptHead(i < n_written ? newest + newest_head * kHeadDim : queries + (i - n_written) * kHeadDim,
                      lane);
    };
    if (warp() < n_heads) {
      KeptHead next = load(warp());
      const KeptAngles angles(of.angles + token * kHeadDim, lane);
#pragma unroll 1
      for (int i = warp(); i < n_heads; i += kDecodeWarps) {
        KeptHead head = next;
        if (i + kDecodeWarps < n_heads) next = load(i + kDecodeWarps);
        const bool is_query = i >= n_written;
        if (is_query || i == kWarpOfKey)
          head.norm_and_rotate(is_query ? of.q_norm : of.k_norm, norms.of(is_query), angles, of.eps);
        if (is_query) {
          Rows::leave_query(head.x, p_.scale, shared_.queries[i - n_written]);
        } else {
#pragma unroll
          for (int j = 0; j < 2 * kKeptPairs; ++j) {
            const Half rounded(head.x[j]);
            shared_.newest[i][lane + 32 * j] = rounded;
            reinterpret_cast<Half*>(newest_row_)[lane + 32 * j] = rounded;
          }
        }
      }
    }
    __syncthreads();
  }

  __device__ void start(const BlockRows& rows) {
    if constexpr (kPrepares) {
      if (Rows::row() < rows.n_heads) rows_.start(shared_.queries[Rows::row()], keys_.n_keys);
    } else {
      while (n_started_ < kStages - 1) load_next(n_started_++);
      start_rows(rows);
    }
  }

  __device__ void add_segment(int segment, int buffer) {
    rows_.start_segment();
    const int n_steps = keys_.n_steps(segment, kStepKeys);
    for (int step = 0; step < n_steps; ++step) {
      if (kPrepares && n_started_ == kStages) {
        --n_started_;  // this step's is on its way
      } else {
        load_next((stage_ + kStages - 1) % kStages);
      }
      wait_for_copies<kStages - 1>();
      wait_for_quarter();
      const int first = keys_.first(segment) + step * kStepKeys;
      Keys& block = shared_.blocks[keys_.warp][stage_];
      if constexpr (kPrepares) {
        if (first + kStepKeys >= keys_.n_keys) put_newest(block, keys_.n_keys - 1 - first);
      }
      rows_.add(block, first, keys_.n_keys);
      wait_for_quarter();
      stage_ = (stage_ + 1) % kStages;
    }
    Quarters<kRows, kHeadDim, kBuffers>& quarters = shared_.quarters;
    rows_.leave(quarters.out[buffer][keys_.warp], quarters.stats[buffer][keys_.warp], group_ * 16);
  }

 private:
  static constexpr int kWarpOfKey = 0;  // the newest; the next one has the value

  __device__ static int warp() {
    return threadIdx.x / 32;
  }
  __device__ void start_rows(const BlockRows& rows) {
    const auto start_row = [&](int row, const auto& start) {
      const bool exists = rows.exists(row);
      const int token = exists ? rows.token(row) : 0, head = exists ? rows.head(row) : 0;
      const float* query = p_.q + (static_cast<int64_t>(token) * p_.n_head + head) * kHeadDim;
      start(query, exists ? visible_keys(p_, token) : 0, exists);
    };
    if constexpr (kHasFew) {
      start_row(Rows::row(), [&](const float* query, int n_visible, bool exists) {
        rows_.start(query, p_.scale, n_visible, exists);
      });
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        start_row(group_ * 16 + Rows::row(half), [&](const float* query, int n_visible, bool exists) {
          rows_.start(query, p_.scale, half, n_visible, exists);
        });
      }
    }
  }
  // In place of what was in the page.
  __device__ void put_newest(Keys& block, int row) const {
    constexpr int kOwn = kHeadDim / 32;
    struct alignas(kOwn * sizeof(Half)) Piece {
      Half values[kOwn];
    };
    const int at = threadIdx.x % 32 * kOwn;
    const auto put = [&](Half* to, const Half* from) {
      *reinterpret_cast<Piece*>(to + at) = *reinterpret_cast<const Piece*>(from + at);
    };
    put(block.k[row], shared_.newest[0]);
    put(block.v[row], shared_.newest[1]);
    __syncwarp();
  }
  __device__ int thread_of_quarter() const {
    return group_ * 32 + static_cast<int>(threadIdx.x) % 32;
  }

  __device__ void load_next(int stage) {
    ahead_.settle(keys_, last_segment_);
    if (ahead_.segment < last_segment_) {
      Keys& block = shared_.blocks[keys_.warp][stage];
      if (kKnown != KnownRows::none || p_.page_tokens % kStepKeys == 0) {
        to_copy_.copy(p_, walk_, block, 0, ahead_.key, ahead_.end, ahead_.key == ahead_.first);
      } else {
        block.template load<32 * kGroups>(p_, walk_, ahead_.key, ahead_.end, thread_of_quarter());
      }
      ahead_.key += kStepKeys;
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
  const Walk walk_;
  const WarpKeys keys_;
  const int group_;
  const int last_segment_;
  Cursor ahead_;
  KeysToCopy<Half, kHeadDim, 32 * kGroups> to_copy_;
  int stage_ = 0, n_started_ = 0;
  std::byte* newest_row_ = nullptr;  // in its page: the newest key, for the warp that has it, or value
  Rows rows_;
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

// The worker for so many rows of a block: of those of one token something may be known.
template <int kHeadDim, int kRows, KnownRows kKnown>
constexpr KnownRows known_rows() {
  if (kRows > kDecodeHeads) return KnownRows::none;
  return kKnown == KnownRows::prepared && kHeadDim != kPreparedDim ? KnownRows::alone : kKnown;
}
template <class Half, int kHeadDim, int kRows, KnownRows kKnown>
using WorkerFor = TensorWorker<Half, kHeadDim, kRows, known_rows<kHeadDim, kRows, kKnown>()>;

template <class Half, int kHeadDim>
size_t shared_bytes_of_worker(int n_rows) {
  return with_rows(n_rows, [](auto rows) {
    return sizeof(typename WorkerFor<Half, kHeadDim, decltype(rows)::value, KnownRows::prepared>::Shared);
  });
}

// Shared memory of a block. Few of one row start beside those of the kernel before, where there is room.
// Others are two for each multiprocessor, as keys are shared out for: if three fitted, some would have one.
template <class Worker>
size_t shared_bytes_of(Stream& stream, const Params& params, int64_t n_blocks) {
  constexpr size_t kAlignment = 16;
  const Gpu& gpu = gpu_of(stream);
  const size_t least = sizeof(typename Worker::Shared);
  const bool are_few = params.n_tokens == 1 && n_blocks <= gpu.n_multiprocessors;
  if (are_few || Worker::kHeadDim < 128) return least;
  const size_t third = gpu.shared_bytes_per_block / 3;
  return std::max(least, (third / kAlignment + 1) * kAlignment);
}

template <class Half, int kHeadDim>
void launch_workers(Stream& stream, const Params& params, int64_t n_head_kv) {
  const dim3 grid(static_cast<unsigned>(blocks_of_tiles(params)),
                  static_cast<unsigned>(n_head_kv * params.tiling.parts));
  const auto launch_with = [&]<KnownRows kKnown>() {
    with_rows(params.tiling.heads * params.tiling.tokens, [&](auto rows) {
      using Worker = WorkerFor<Half, kHeadDim, decltype(rows)::value, kKnown>;
      launch(stream, decode_on_tensor_cores<Worker>,
             {.grid = grid,
              .block = dim3(Worker::kThreads),
              .shared_bytes = shared_bytes_of<Worker>(stream, params, int64_t{grid.x} * grid.y),
              .takes_most_shared = true},
             params);
    });
  };
  const bool are_known = params.are_alone && params.tiling.tokens == 1 && !params.main_pages &&
                         params.page_tokens % kStepKeys == 0;
  if (params.preparation.k) {
    launch_with.template operator()<KnownRows::prepared>();
  } else if (are_known) {
    launch_with.template operator()<KnownRows::alone>();
  } else {
    launch_with.template operator()<KnownRows::none>();
  }
}

}  // namespace parlance::cuda::attention
