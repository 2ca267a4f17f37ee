// How kernels find keys and values, and where their results go.
#pragma once

#include "kernels/cuda/attention/attention.h"

namespace parlance::cuda::attention {

// Less than any score, and finite: the difference to a masked score of -infinity is not NaN.
inline constexpr float kLowest = -1e30f;

// Keys and values of one KV head of one sequence.
struct Walk {
  const int32_t* pages;
  const std::byte* keys;
  const std::byte* values;

  __device__ Walk(const Params& p, int seq, int head_kv)
      : pages(p.page_table + seq * p.max_pages),
        keys(p.pages + static_cast<int64_t>(head_kv) * p.page_tokens * p.k_row_bytes),
        values(p.pages + p.v_start + static_cast<int64_t>(head_kv) * p.page_tokens * p.v_row_bytes) {}

  __device__ const std::byte* k_row(const Params& p, int pos) const {
    return keys + pages[pos / p.page_tokens] * p.page_bytes + pos % p.page_tokens * p.k_row_bytes;
  }
  __device__ const std::byte* v_row(const Params& p, int pos) const {
    return values + pages[pos / p.page_tokens] * p.page_bytes + pos % p.page_tokens * p.v_row_bytes;
  }
};

// Rows of the token's sequence in the batch, or kManyRows when there are as many. Asked by whole warps.
__device__ inline int rows_of_sequence(const Params& p, int token) {
  if (p.is_decode) return 1;
  const int seq = p.seq[token];
  int n_rows = 1;
#pragma unroll
  for (int side = -1; side <= 1; side += 2) {
    for (int first = 1; first < kManyRows; first += 32) {
      const int other = token + side * (first + static_cast<int>(threadIdx.x % 32));
      const bool is_same = other >= 0 && other < p.n_tokens && p.seq[other] == seq;
      const unsigned others = __ballot_sync(0xffffffff, !is_same);
      n_rows += others ? __ffs(static_cast<int>(others)) - 1 : 32;
      if (others) break;
    }
  }
  return min(n_rows, kManyRows);
}

// Consecutive tokens of one sequence whose keys are cut alike, with the rows that they make.
struct TokenRun {
  int first, last;
  int n_keys;        // that the furthest of them sees
  int segment_keys;  // of a segment
  bool is_served;    // by this kernel

  __device__ TokenRun(const Params& p, int start, int end) : first(start), last(start), n_keys(0) {
    const int n_rows = rows_of_sequence(p, start);
    is_served = n_rows >= p.least_rows && n_rows <= p.most_rows;
    const int seq = p.seq[start];
    segment_keys = attention::segment_keys(n_rows, p.pos[start] + 1);
    for (; last < end && p.seq[last] == seq; ++last) {
      const int keys_of_last = p.pos[last] + 1;
      if (attention::segment_keys(n_rows, keys_of_last) != segment_keys) break;
      n_keys = max(n_keys, keys_of_last);
    }
  }

  __device__ int n_segments() const { return (n_keys + segment_keys - 1) / segment_keys; }
};

// Whether several blocks share the segments of the run and leave them to run_merge().
__device__ inline bool is_split(const Params& p, const TokenRun& run) {
  return run.first < p.n_split_tokens && run.segment_keys != kAllKeys;
}

// The segments [first, last) of a run that this block works on.
struct SegmentRange {
  int first, last;
  __device__ SegmentRange(const Params& p, const TokenRun& run)
      : first(0), last(blockIdx.z == 0 ? run.n_segments() : 0) {
    if (!is_split(p, run)) return;
    first = run.n_segments() * static_cast<int>(blockIdx.z) / p.n_splits;
    last = run.n_segments() * static_cast<int>(blockIdx.z + 1) / p.n_splits;
  }
};

// Index of a (token, head, segment) among partial results.
__device__ inline int64_t partial_row(const Params& p, int token, int head, int segment) {
  return (static_cast<int64_t>(token) * p.n_head + head) * p.partials.max_segments + segment;
}

}  // namespace parlance::cuda::attention
