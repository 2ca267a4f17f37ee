#include "kv/attention_sample.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/isa.h"

namespace parlance {

namespace {

constexpr int kLanes = 8;  // sums side by side, for vectors of any processor
constexpr int kRows = 4;   // that are read together

template <int n_rows>
PARLANCE_INLINE void dots_of_lanes(const float* x, const float* rows, int64_t n, float* of_rows) {
  float sums[n_rows][kLanes];
  for (int row = 0; row < n_rows; ++row) {
    for (int lane = 0; lane < kLanes; ++lane) sums[row][lane] = 0;
  }
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int row = 0; row < n_rows; ++row) {
      for (int lane = 0; lane < kLanes; ++lane) sums[row][lane] += x[i + lane] * rows[row * n + i + lane];
    }
  }
  for (int row = 0; row < n_rows; ++row) {
    float sum = 0;
    for (int64_t rest = i; rest < n; ++rest) sum += x[rest] * rows[row * n + rest];
    for (int lane = 0; lane < kLanes; ++lane) sum += sums[row][lane];
    of_rows[row] = sum;
  }
}

PARLANCE_INLINE void all_dots(const float* x, const float* rows, int64_t n_rows, int64_t n, float* of_rows) {
  int64_t row = 0;
  for (; row + kRows <= n_rows; row += kRows) dots_of_lanes<kRows>(x, rows + row * n, n, of_rows + row);
  for (; row < n_rows; ++row) dots_of_lanes<1>(x, rows + row * n, n, of_rows + row);
}

PARLANCE_INLINE void add_weighted_lanes(float* __restrict sum, const float* __restrict rows,
                                        const float* __restrict weights, int64_t n_rows, int64_t n) {
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

#if PARLANCE_X86
PARLANCE_AVX2 void dots_avx2(const float* x, const float* rows, int64_t n_rows, int64_t n, float* of_rows) {
  all_dots(x, rows, n_rows, n, of_rows);
}
PARLANCE_AVX2 void add_weighted_avx2(float* sum, const float* rows, const float* weights, int64_t n_rows,
                                     int64_t n) {
  add_weighted_lanes(sum, rows, weights, n_rows, n);
}
const bool has_avx2 = available_isas().back() >= Isa::avx2;
#endif

}  // namespace

void dots(const float* x, const float* rows, int64_t n_rows, int64_t n, float* of_rows) {
#if PARLANCE_X86
  if (has_avx2) return dots_avx2(x, rows, n_rows, n, of_rows);
#endif
  all_dots(x, rows, n_rows, n, of_rows);
}

float dot(const float* a, const float* b, int64_t n) {
  float product = 0;
  dots(a, b, 1, n, &product);
  return product;
}

void add_weighted(float* sum, const float* rows, const float* weights, int64_t n_rows, int64_t n) {
#if PARLANCE_X86
  if (has_avx2) return add_weighted_avx2(sum, rows, weights, n_rows, n);
#endif
  add_weighted_lanes(sum, rows, weights, n_rows, n);
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
    dots(q.data() + row * n, k, n_keys, n, of_row);
    for (int64_t key = 0; key < n_keys; ++key) of_row[key] *= of.scale;
  }
  weights = scores;
  for (int64_t row = 0; row < n_rows; ++row) {
    float* const p = weights.data() + row * n_keys;
    softmax(p, n_keys);
    add_weighted(outputs.data() + row * n_v, v, p, n_keys, n_v);
  }
}

}  // namespace parlance
