// How kernels find keys and values, and where their results go.
#pragma once

#include "kernels/cuda/attention/attention.h"

namespace parlance::cuda::attention {

// Less than any score, and finite: the difference to a masked score of -infinity is not NaN.
inline constexpr float kLowest = -1e30f;

// The keys of a kernel are counted as if there were no others: where a sequence has pages of two kinds, those
// of main pages from the first main page on, those of exact pages as if the main ones between them were not
// there.

// How many of a sequence's keys lie before a position.
__device__ inline int keys_before(const Params& p, int seq, int pos) {
  if (!p.main_pages) return pos;
  const int first = p.main_pages[2 * seq] * p.page_tokens, last = p.main_pages[2 * seq + 1] * p.page_tokens;
  const int n_main = min(max(pos - first, 0), max(last - first, 0));
  return p.is_exact ? pos - n_main : n_main;
}

// Keys and values of one KV head of one sequence.
struct Walk {
  const int32_t* pages;
  const std::byte* keys;
  const std::byte* values;
  int gap_at = 0, gap = 0;  // so many pages of the other kind lie before the page of the keys of this number

  __device__ Walk(const Params& p, int seq, int head_kv)
      : pages(p.page_table + seq * p.max_pages),
        keys(p.pages + static_cast<int64_t>(head_kv) * p.page_tokens * p.k_row_bytes),
        values(p.pages + p.v_start + static_cast<int64_t>(head_kv) * p.page_tokens * p.v_row_bytes) {
    if (!p.main_pages) return;
    const int first = p.main_pages[2 * seq], last = p.main_pages[2 * seq + 1];
    gap_at = p.is_exact ? first : 0;
    gap = p.is_exact ? max(last - first, 0) : first;
  }

  __device__ int64_t page(int index) const { return pages[index + (index >= gap_at ? gap : 0)]; }
  __device__ const std::byte* k_row(const Params& p, int key) const {
    return keys + page(key / p.page_tokens) * p.page_bytes + key % p.page_tokens * p.k_row_bytes;
  }
  __device__ const std::byte* v_row(const Params& p, int key) const {
    return values + page(key / p.page_tokens) * p.page_bytes + key % p.page_tokens * p.v_row_bytes;
  }
};

// Consecutive tokens of the token's sequence beside it, on one side (-1, 1), as far as kMostCountedRows.
// Asked by whole warps.
__device__ inline int tokens_beside(const Params& p, int token, int side) {
  const int seq = p.seq[token], lane = threadIdx.x % 32;
  const auto count = [&](int before, int stride) {
    const int other = token + side * (before + stride * (lane + 1));
    const bool is_same = other >= 0 && other < p.n_tokens && p.seq[other] == seq;
    const unsigned others = __ballot_sync(0xffffffff, !is_same);
    return others ? __ffs(static_cast<int>(others)) - 1 : 32;
  };
  const int near = count(0, 1);
  if (near < 32) return near;
  const int far = 32 * count(0, 32);  // at least 32
  return far >= kMostCountedRows ? far : far + count(far, 1);
}

// Rows of the token's sequence in the batch, or kMostCountedRows or more when there are as many.
__device__ inline int rows_of_sequence(const Params& p, int token) {
  return p.is_decode ? 1 : 1 + tokens_beside(p, token, -1) + tokens_beside(p, token, 1);
}

// What a kernel for answers may take for granted: nothing; that rows are alone (see Params); that it prepares
// their heads, too (see Preparation). Keys are then in pages of one kind, of whole steps
// (see keys_ahead.cuh). It has no code for others, since what is never run makes what is run come later.
enum class KnownRows { none, alone, prepared };

// Consecutive tokens of one sequence whose keys are cut alike, with the rows that they make. Asked by whole
// warps.
struct TokenRun {
  int first, last;
  int n_keys;        // that the furthest of them sees
  int segment_keys;  // of a segment
  bool is_served;    // by this kernel

  __device__ TokenRun(const Params& p, int start, int end) : first(start), last(start), n_keys(0) {
    const int n_rows = rows_of_sequence(p, start);
    is_served = n_rows >= p.least_rows && n_rows <= p.most_rows;
    const int seq = p.seq[start];
    const auto cut = [&](int n) { return attention::segment_keys(n_rows, n, p.many_rows, p.most_segments); };
    segment_keys = cut(keys_before(p, seq, p.pos[start] + 1));
    const int lane = threadIdx.x % 32;
    for (int n = 32; n == 32 && last < end; last += n) {
      const int token = last + lane;
      const int keys = token < end && p.seq[token] == seq ? keys_before(p, seq, p.pos[token] + 1) : -1;
      const unsigned others = __ballot_sync(0xffffffff, keys < 0 || cut(keys) != segment_keys);
      n = others ? __ffs(static_cast<int>(others)) - 1 : 32;
      n_keys = max(n_keys, __reduce_max_sync(0xffffffff, lane < n ? keys : 0));
    }
  }

  // Of one token, where rows are alone.
  __device__ static TokenRun of_token(const Params& p, int token) {
    const int n_keys = keys_before(p, p.seq[token], p.pos[token] + 1);
    return TokenRun(token, n_keys, attention::segment_keys(1, n_keys, p.many_rows, p.most_segments));
  }

  __device__ int n_segments() const { return (n_keys + segment_keys - 1) / segment_keys; }

 private:
  __device__ TokenRun(int token, int n_keys, int segment_keys)
      : first(token), last(token + 1), n_keys(n_keys), segment_keys(segment_keys), is_served(true) {}
};

// A block's tile, and which of n_splits shares of its segments it has. Later tokens see more keys: they are
// taken first.
struct BlockPlace {
  int tile, split;
  __device__ explicit BlockPlace(const Params& p) {
    const int block = blockIdx.x, n_split = split_tiles(p), n_whole = p.tiling.n_tiles - n_split;
    const bool is_whole = block < n_whole;
    tile = is_whole ? p.tiling.n_tiles - 1 - block : n_split - 1 - (block - n_whole) / p.n_splits;
    split = is_whole ? 0 : (block - n_whole) % p.n_splits;
  }
};

// Whether a tile has tokens of a sequence with more than kMostDecodeRows rows. Asked by whole blocks.
__device__ inline bool has_long_run(const Params& p, int first, int end) {
  bool is_long = false;
  for (int i = first - kMostDecodeRows + static_cast<int>(threadIdx.x); i < end; i += blockDim.x) {
    is_long |= i >= 0 && i + kMostDecodeRows < p.n_tokens && p.seq[i] == p.seq[i + kMostDecodeRows];
  }
  return __syncthreads_or(is_long);
}

// Whether several blocks share the segments of the run and leave them to run_merge().
__device__ inline bool is_split(const Params& p, const TokenRun& run) {
  return run.first < p.n_split_tokens && run.segment_keys != kAllKeys;
}

// The segments [first, last) of a run that a block works on.
struct SegmentRange {
  int first, last;
  __device__ SegmentRange(const Params& p, const TokenRun& run, int split)
      : first(0), last(split == 0 ? run.n_segments() : 0) {
    if (!is_split(p, run)) return;
    first = run.n_segments() * split / p.n_splits;
    last = run.n_segments() * (split + 1) / p.n_splits;
  }
};

// Keys that a token sees.
__device__ inline int visible_keys(const Params& p, int token) {
  return keys_before(p, p.seq[token], p.pos[token] + 1);
}

// Index of a token's newest key or value among those of all heads.
__device__ inline int newest_head_of(const Params& p, int token, int head_kv) {
  return token * p.n_head_kv + head_kv;
}

// Index of a (token, head, segment) among partial results.
__device__ inline int64_t partial_row(const Params& p, int token, int head, int segment) {
  return (static_cast<int64_t>(token) * p.n_head + head) * p.partials.max_segments + segment;
}

}  // namespace parlance::cuda::attention
