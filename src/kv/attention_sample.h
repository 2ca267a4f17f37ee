// Some of a model's queries, keys and values, and the attention that they make.
#pragma once

#include <cstdint>
#include <vector>

namespace parlance {

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

// One head of keys and values of a sample, which must outlive it, and what some queries of the heads that
// share it find there.
struct SampledHead {
  // Of the sample's queries, every so many that there are n_queries of each head. Keys at positions before
  // n_first are the first ones.
  SampledHead(const AttentionSample& sample, int64_t head, int64_t n_queries, int64_t n_first);

  const AttentionSample* sample;
  int64_t head;
  int64_t n_first;             // of the keys
  const float* k;              // [head_dim_k, n_keys]
  const float* v;              // [head_dim_v, n_keys]
  int64_t n_rows;              // queries
  std::vector<float> q;        // [head_dim_k, n_rows]
  std::vector<float> scores;   // [n_keys, n_rows], multiplied by the scale
  std::vector<float> weights;  // [n_keys, n_rows]: their softmax
  std::vector<float> outputs;  // [head_dim_v, n_rows]
};

// In place.
void softmax(float* x, int64_t n);

float dot(const float* a, const float* b, int64_t n);

// of_rows [n_rows]: the dot products of x [n] and each of rows [n, n_rows].
void dots(const float* x, const float* rows, int64_t n_rows, int64_t n, float* of_rows);

// sum [n] += rows [n, n_rows] times weights [n_rows].
void add_weighted(float* sum, const float* rows, const float* weights, int64_t n_rows, int64_t n);

}  // namespace parlance
