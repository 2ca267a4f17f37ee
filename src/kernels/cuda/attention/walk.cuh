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

// Consecutive tokens of one sequence, with the rows that they make.
struct TokenRun {
  int first, last;
  int n_keys;  // that the furthest of them sees

  __device__ TokenRun(const Params& p, int start, int end) : first(start), last(start), n_keys(0) {
    const int seq = p.seq[start];
    for (; last < end && p.seq[last] == seq; ++last) n_keys = max(n_keys, p.pos[last] + 1);
  }
};

// The keys [first, last) of n_keys that a split works on; blocks of `unit` keys stay together, and no split
// has more than one of them above the others.
struct KeyRange {
  int first, last;
  __device__ KeyRange(int n_keys, int n_splits, int split, int unit) {
    const int n_units = (n_keys + unit - 1) / unit;
    first = n_units * split / n_splits * unit;
    last = min(n_keys, n_units * (split + 1) / n_splits * unit);
  }
};

// Index of a (token, head) among partial statistics.
__device__ inline int64_t partial_row(const Params& p, int token, int head, int split) {
  return (static_cast<int64_t>(token) * p.n_head + head) * p.n_splits + split;
}

}  // namespace parlance::cuda::attention
