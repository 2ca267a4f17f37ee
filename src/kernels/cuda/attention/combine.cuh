// What the kernels for answers have in common. Of a segment, four quarters, a warp's each (or a few warps'),
// become one in their order, which is left as partial result or joins those before it.
#pragma once

#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

inline constexpr int kDecodeWarps = 4;  // that share a segment's keys
inline constexpr int kDecodeThreads = 32 * kDecodeWarps;

// What warps have of a segment, in shared memory. With two buffers the next one goes to the other while this
// one is added up. The padding keeps what a warp stores of eight rows out of each other's banks.
template <int kQuarterRows, int kDim, int kBuffers>
struct Quarters {
  static constexpr int n_parts = kDecodeWarps, kRows = kQuarterRows, kHeadDim = kDim, kMostPiece = 4;
  alignas(16) float out[kBuffers][kDecodeWarps][kRows][kHeadDim + 8];
  float2 stats[kBuffers][kDecodeWarps][kRows];  // largest score, sum of weights

  // The row that the n-th so many threads have.
  template <int kRowThreads>
  __device__ static int row_of_threads(int n) {
    return n;
  }
  __device__ float2 stats_of(int buffer, int part, int row) const { return stats[buffer][part][row]; }
  template <class Piece>
  __device__ Piece piece(int buffer, int part, int row, int element) const {
    return *reinterpret_cast<const Piece*>(&out[buffer][part][row][element]);
  }
};

// The keys of a segment that one warp works on, step by step.
struct WarpKeys {
  int per_warp;  // of a segment
  int n_keys;    // that are seen
  int warp;

  __device__ int first(int segment) const { return (segment * kDecodeWarps + warp) * per_warp; }
  // Steps of `at_once` keys; past the last key there is nothing to do.
  __device__ int n_steps(int segment, int at_once) const {
    const int n = min(per_warp, n_keys - first(segment));
    return (max(n, 0) + at_once - 1) / at_once;
  }
};

// Rows of a block: the heads of some tokens, token by token.
struct BlockRows {
  int first_token, n_tokens;
  int first_head, n_heads;

  __device__ bool exists(int row) const { return row < n_tokens * n_heads; }
  __device__ int token(int row) const { return first_token + row / n_heads; }
  __device__ int head(int row) const { return first_head + row % n_heads; }
};

// Of the whole rows of a block, a thread has a few values of one: pieces of up to 16 bytes, between which
// those of the row's other threads lie.
template <class Parts, int kThreads>
class RowsSoFar {
  static constexpr int kRows = Parts::kRows, kHeadDim = Parts::kHeadDim;
  static constexpr int kOwn = kRows * kHeadDim / kThreads, kRowThreads = kHeadDim / kOwn;
  static constexpr int kPiece = kOwn < Parts::kMostPiece ? kOwn : Parts::kMostPiece, kPieces = kOwn / kPiece;
  struct alignas(kPiece * sizeof(float)) Piece {
    float values[kPiece];
  };

 public:
  // Rows from `first` of the block on.
  __device__ void start(const Params& p, const BlockRows& rows, int first, bool is_shared) {
    p_ = &p;
    const int row = first + own_row();
    has_row_ = rows.exists(row);
    token_ = has_row_ ? rows.token(row) : 0;
    head_ = has_row_ ? rows.head(row) : 0;
    is_shared_ = is_shared;
  }

  // When all warps have left what they have in this buffer.
  __device__ void add(const Parts& quarters, int buffer, int segment) {
    start_segment();
    gather(quarters, buffer);
    end_segment(segment);
  }

  // The same where a part is all of a segment.
  __device__ void add_part(const Parts& parts, int part, int segment) {
    start_segment();
    gather(parts, 0, part, part + 1);
    end_segment(segment);
  }

  // The same where a segment has more parts than there is room for at once.
  __device__ void start_segment() { of_segment_ = Sums(); }
  __device__ void gather(const Parts& parts, int buffer) { gather(parts, buffer, 0, parts.n_parts); }
  __device__ void gather(const Parts& parts, int buffer, int first, int last) {
    const int row = own_row();
#pragma unroll kDecodeWarps
    for (int w = first; w < last; ++w) {
      const float2 stats = parts.stats_of(buffer, w, row);
      const Fold fold(of_segment_.largest, stats.x);
      of_segment_.largest = fold.largest;
      of_segment_.sum = fold(of_segment_.sum, stats.y);
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        const Piece of = parts.template piece<Piece>(buffer, w, row, place(i));
        Piece& out = of_segment_.out[i];
#pragma unroll
        for (int j = 0; j < kPiece; ++j) out.values[j] = fold(out.values[j], of.values[j]);
      }
    }
  }
  __device__ void end_segment(int segment) {
    if (is_shared_) {
      if (!has_row_) return;
      const int64_t at = partial_row(*p_, token_, head_, segment);
      store(p_->partials.out + at * kHeadDim, of_segment_.out);
      if (threadIdx.x % kRowThreads == 0)
        p_->partials.stats[at] = make_float2(of_segment_.largest, of_segment_.sum);
      return;
    }
    const Fold fold(so_far_.largest, of_segment_.largest);
    so_far_.largest = fold.largest;
    so_far_.sum = fold(so_far_.sum, of_segment_.sum);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
#pragma unroll
      for (int j = 0; j < kPiece; ++j)
        so_far_.out[i].values[j] = fold(so_far_.out[i].values[j], of_segment_.out[i].values[j]);
    }
  }

  __device__ void store() {
    if (is_shared_ || !has_row_) return;
    const int64_t row = static_cast<int64_t>(token_) * p_->n_head + head_;
    if (p_->stats) {
      if (threadIdx.x % kRowThreads == 0) p_->stats[row] = make_float2(so_far_.largest, so_far_.sum);
    } else {
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
#pragma unroll
        for (int j = 0; j < kPiece; ++j)
          so_far_.out[i].values[j] = finish(so_far_.out[i].values[j], so_far_.sum);
      }
    }
    store(p_->out + row * kHeadDim, so_far_.out);
  }
  // What merge_and_join() makes of it, of rows that nobody else has keys of. from_stored() is given an
  // element of 32 neighbours by each lane of a warp.
  template <class FromStored>
  __device__ void store_joined(const FromStored& from_stored) {
    static_assert(kPiece == 1 && kRowThreads % 32 == 0);
    if (!has_row_) return;
    const int64_t row = static_cast<int64_t>(token_) * p_->n_head + head_;
    const Fold fold(so_far_.largest, kLowest);
    const float weights = fold(so_far_.sum, 0.0f);
    float values[kPieces];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) values[i] = so_far_.out[i].values[0];
    from_stored(values);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) so_far_.out[i].values[0] = finish(fold(values[i], 0.0f), weights);
    store(p_->out + row * kHeadDim, so_far_.out);
  }

 private:
  __device__ static int own_row() {
    return Parts::template row_of_threads<kRowThreads>(threadIdx.x / kRowThreads);
  }
  // Of a piece in the row.
  __device__ static int place(int i) {
    return (i * kRowThreads + static_cast<int>(threadIdx.x % kRowThreads)) * kPiece;
  }
  __device__ static void store(float* row, const Piece (&pieces)[kPieces]) {
#pragma unroll
    for (int i = 0; i < kPieces; ++i) *reinterpret_cast<Piece*>(row + place(i)) = pieces[i];
  }

  const Params* p_;
  bool has_row_;
  int token_, head_;
  bool is_shared_;
  struct Sums {
    float largest = kLowest, sum = 0;
    Piece out[kPieces] = {};
  };
  Sums of_segment_, so_far_;
};

// Has the numbers of a range's first pages at hand before they are looked up, by lanes of a warp.
__device__ inline void prefetch_pages(const Params& p, const TokenRun& run, const SegmentRange& range) {
  const int lane = threadIdx.x % 32, key = range.first * run.segment_keys;
  if (threadIdx.x >= 32 || range.first >= range.last) return;
  const Walk walk(p, p.seq[run.first], 0);
  const int index = key / p.page_tokens + lane;
  if (index * p.page_tokens >= run.n_keys) return;
  asm volatile("prefetch.global.L1 [%0];" ::"l"(walk.pages + index + (index >= walk.gap_at ? walk.gap : 0)));
}

// A block's work: the rows of a tile against some segments of their keys, or all of them. A worker is what
// the warps do with keys: it has its Shared memory with `quarters`, and sizes; made for a sequence and
// started with rows of it, it leaves what they have of each segment.
template <class Worker>
__device__ void decode_tile(const Params& p, typename Worker::Shared& shared) {
  let_next_start();
  constexpr int kBuffers = Worker::kBuffers;
  const BlockPlace place(p);
  const int head_kv = blockIdx.y / p.tiling.parts;
  const int in_group = blockIdx.y % p.tiling.parts * p.tiling.heads;
  const int n_heads = min(p.tiling.heads, p.group - in_group);
  const int first = place.tile * p.tiling.tokens, end = min(p.n_tokens, first + p.tiling.tokens);
  const auto run_from = [&](int token) {
    if constexpr (Worker::kKnown != KnownRows::none) return TokenRun::of_token(p, token);
    return TokenRun(p, token, end);
  };
  if constexpr (Worker::kKnown != KnownRows::none) __builtin_assume(!p.main_pages);
  TokenRun run = run_from(first);  // sequences, positions and pages are not what kernels write
  const typename Worker::Norms norms(p);
  if (run.is_served) prefetch_pages(p, run, SegmentRange(p, run, place.split));
  // Of a row alone, the keys before it are those of earlier steps.
  const bool starts_early = Worker::kStartsEarly && (Worker::kPrepares || p.n_tokens == 1);
  if (!starts_early) wait_for_previous();
  for (;; run = run_from(run.last)) {
    // A recorded step is replayed at any position up to its bound: later blocks may have nothing to do.
    const SegmentRange range(p, run, place.split);
    const bool has_work = run.is_served && range.first < range.last;
    if (has_work) {
      const BlockRows rows{run.first, run.last - run.first, head_kv * p.group + in_group, n_heads};
      RowsSoFar<decltype(shared.quarters), Worker::kThreads> so_far;
      so_far.start(p, rows, 0, is_split(p, run));
      Worker worker(p, shared, Walk(p, p.seq[run.first], head_kv), run, range);
      if constexpr (Worker::kStartsEarly) {
        if (starts_early) {
          // Whoever prepares the newest key and value puts them where copies brought something else.
          worker.start_before(
              Worker::kPrepares ? kAllKeys : keys_before(p, p.seq[run.first], p.pos[run.first]),
              is_split(p, run));
          wait_for_previous();
        }
      }
      if constexpr (Worker::kPrepares) worker.prepare(norms, rows, head_kv, range.last == run.n_segments());
      worker.start(rows);
      for (int segment = range.first; segment < range.last; ++segment) {
        const int buffer = segment % kBuffers;
        worker.add_segment(segment, buffer);
        __syncthreads();
        so_far.add(shared.quarters, buffer, segment);
        if (kBuffers == 1) __syncthreads();
      }
      so_far.store();
    }
    if (starts_early && !has_work) wait_for_previous();
    if (Worker::kKnown != KnownRows::none || run.last >= end) return;
    if (has_work) __syncthreads();
  }
}

}  // namespace parlance::cuda::attention
