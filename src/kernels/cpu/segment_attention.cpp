// segment_attention on the CPU: the definition, and which kernels serve which instruction set.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/attention/segments.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

namespace parlance {

namespace {

// The segment that a token lies in: from bounds[s] to bounds[s + 1].
int64_t segment_of(const SegmentAttentionArgs& args, int64_t token) {
  const auto* bounds = args.bounds.as<const int32_t>();
  return std::upper_bound(bounds, bounds + args.bounds.n_elements(), token) - bounds - 1;
}

// One query head of one token.
void attend(const SegmentAttentionArgs& args, int64_t token, int64_t head, float* weights) {
  const auto [head_dim, n_head, n_tokens, one] = args.q.ne;
  const int64_t n_head_kv = args.k.ne[1], head_kv = head / (n_head / n_head_kv);
  const auto* bounds = args.bounds.as<const int32_t>() + segment_of(args, token);
  const int64_t first = bounds[0], n_keys = bounds[1] - first;
  const float* q = args.q.as<const float>() + (token * n_head + head) * head_dim;
  const float* k = args.k.as<const float>() + (first * n_head_kv + head_kv) * head_dim;
  const float* v = args.v.as<const float>() + (first * n_head_kv + head_kv) * head_dim;
  float* out = args.out.as<float>() + (token * n_head + head) * head_dim;
  const float* bias = args.bias ? args.bias.as<const float>() + token * args.bias.ne[0] : nullptr;
  const int64_t stride = n_head_kv * head_dim;

  for (int64_t key = 0; key < n_keys; ++key) {
    double score = 0;
    for (int64_t i = 0; i < head_dim; ++i)
      score += static_cast<double>(q[i]) * static_cast<double>(k[key * stride + i]);
    const auto product = static_cast<float>(score);  // NaN where that is infinite, as in attention.cpp
    weights[key] = (product + 0 * product) * args.scale + (bias ? bias[key] : 0);
  }
  const float largest = *std::max_element(weights, weights + n_keys);
  double sum = 0;
  for (int64_t key = 0; key < n_keys; ++key) {
    weights[key] = std::exp(weights[key] - largest);
    sum += static_cast<double>(weights[key]);
  }
  for (int64_t i = 0; i < head_dim; ++i) {
    double total = 0;
    for (int64_t key = 0; key < n_keys; ++key)
      total += static_cast<double>(weights[key]) * static_cast<double>(v[key * stride + i]);
    out[i] = static_cast<float>(total / sum);
  }
}

size_t scratch_scalar(const SegmentAttentionArgs& args, int n_threads) {
  return static_cast<size_t>(n_threads) * static_cast<size_t>(args.q.ne[2]) * sizeof(float);
}

void run_scalar(Stream& stream, const SegmentAttentionArgs& args) {
  const int64_t n_head = args.q.ne[1], n_tokens = args.q.ne[2];
  auto* weights = reinterpret_cast<float*>(stream.scratch().data());
  pool_of(stream).run(n_tokens * n_head, [&](int64_t task, int thread) {
    attend(args, task / n_head, task % n_head, weights + thread * n_tokens);
  });
}

}  // namespace

void fill_segment_attention(OpTable& table, [[maybe_unused]] Isa isa) {
  table.segment_attention = {run_scalar, scratch_scalar};
#if PARLANCE_X86
  if (isa == Isa::avx2) table.segment_attention = attention::segment_cell<attention::kAvx2>();
  if (is_avx512(isa)) table.segment_attention = attention::segment_cell<attention::kAvx512>();
#elif PARLANCE_NEON
  if (is_neon(isa)) table.segment_attention = attention::segment_cell<attention::kNeon>();
#endif
}

}  // namespace parlance
