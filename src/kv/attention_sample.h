// Some of a model's queries, keys and values, and what equalises them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/equaliser.h"

namespace parlance {

// How a rotated pair of a head's elements turns.
struct TurningPair {
  int64_t first, second;  // elements
  double frequency;       // radians per position
};

// Rotated queries and keys of one layer at some positions of a text, and the values.
struct AttentionSample {
  int64_t n_head = 0, n_head_kv = 0;
  int64_t head_dim_k = 0, head_dim_v = 0;
  float scale = 1;                   // of scores
  std::vector<int64_t> k_positions;  // ascending
  std::vector<float> q;              // [head_dim_k, n_head, n_queries], all behind the keys
  std::vector<float> k;              // [head_dim_k, n_keys, n_head_kv]
  std::vector<float> v;              // [head_dim_v, n_keys, n_head_kv]

  int64_t n_keys() const { return static_cast<int64_t>(k_positions.size()); }
  int64_t n_queries() const { return static_cast<int64_t>(q.size()) / (head_dim_k * n_head); }
};

// The shift is what keys have in common over the first n_ctx positions: nearly all of a constant part in pairs that
// turn slowly, and nothing of it in fast ones. The scale makes elements of keys and queries equally large, which the
// error of scores is least for where formats spread it over a block. Keys at positions before n_left_out do not
// count: first tokens are often unlike all others.
KeyEqualiser equaliser_for(const AttentionSample& sample, std::span<const TurningPair> pairs, int64_t n_ctx,
                           int64_t n_left_out);

}  // namespace parlance
