#include "kv/attention_sample.h"

#include <algorithm>
#include <cmath>

namespace parlance {

namespace {

constexpr int kLanes = 32;  // sums side by side, for vectors of any processor
constexpr int kRows = 4;    // that are read together

}  // namespace

float dot(const float* a, const float* b, int64_t n) {
  float sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (const float s : sums) sum += s;
  return sum;
}

void add_weighted(float* __restrict sum, const float* __restrict rows, const float* __restrict weights,
                  int64_t n_rows, int64_t n) {
  int64_t row = 0;
  for (; row + kRows <= n_rows; row += kRows) {
    const float* const x = rows + row * n;
    const float a = weights[row], b = weights[row + 1], c = weights[row + 2], d = weights[row + 3];
    for (int64_t i = 0; i < n; ++i) sum[i] += a * x[i] + b * x[n + i] + c * x[2 * n + i] + d * x[3 * n + i];
  }
  for (; row < n_rows; ++row) {
    for (int64_t i = 0; i < n; ++i) sum[i] += weights[row] * rows[row * n + i];
  }
}

void softmax(float* x, int64_t n) {
  const float largest = *std::max_element(x, x + n);
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] = std::exp(x[i] - largest);
  for (int64_t i = 0; i < n; ++i) x[i] /= sum;
}

SampledHead::SampledHead(const AttentionSample& of, int64_t head_kv, int64_t n_queries, int64_t n_first_keys)
    : sample(&of),
      head(head_kv),
      n_first(std::ranges::lower_bound(of.k_positions, n_first_keys) - of.k_positions.begin()),
      k(of.k.data() + head_kv * of.n_keys() * of.head_dim_k),
      v(of.v.data() + head_kv * of.n_keys() * of.head_dim_v) {
  const int64_t n = of.head_dim_k, n_v = of.head_dim_v, n_keys = of.n_keys();
  const int64_t n_shared = of.n_head / of.n_head_kv;
  const int64_t step = std::max<int64_t>(of.n_queries() / n_queries, 1);
  for (int64_t query = step - 1; query < of.n_queries(); query += step) {
    const auto* const first = of.q.data() + (query * of.n_head + head_kv * n_shared) * n;
    q.insert(q.end(), first, first + n_shared * n);
  }
  n_rows = static_cast<int64_t>(q.size()) / n;
  scores.resize(static_cast<size_t>(n_keys * n_rows));
  outputs.resize(static_cast<size_t>(n_v * n_rows));
  for (int64_t row = 0; row < n_rows; ++row) {
    float* const of_row = scores.data() + row * n_keys;
    for (int64_t key = 0; key < n_keys; ++key)
      of_row[key] = of.scale * dot(q.data() + row * n, k + key * n, n);
  }
  weights = scores;
  for (int64_t row = 0; row < n_rows; ++row) {
    float* const p = weights.data() + row * n_keys;
    softmax(p, n_keys);
    add_weighted(outputs.data() + row * n_v, v, p, n_keys, n_v);
  }
}

}  // namespace parlance
