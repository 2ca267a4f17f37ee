// gated_delta_net on the CPU: the definition, and which kernels serve which instruction set.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/delta_net/kernels.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/sequence_runs.h"

namespace parlance {

namespace {

double dot(const float* a, const float* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// 1 / max(|x|, eps)
double inverse_length(const float* x, int64_t n, float eps) {
  return 1 / std::max(std::sqrt(dot(x, x, n)), static_cast<double>(eps));
}

double softplus(double x) {
  return x > 20 ? x : std::log1p(std::exp(x));
}

// One token of one value head. The rows of the state, one for each value, do not see each other. Without
// `out`, the state alone is wanted.
void step_head(const GatedDeltaNetArgs& args, const delta_net::TokenInputs& token, int64_t head, float* state,
               float* out) {
  const int64_t n = args.memory.state.ne[0], n_value_head = args.memory.state.ne[2];
  const int64_t n_key_head = (args.qkv.ne[0] / n - n_value_head) / 2;
  const float* q = token.qkv + head % n_key_head * n;
  const float* k = token.qkv + (n_key_head + head % n_key_head) * n;
  const float* v = token.qkv + (2 * n_key_head + head) * n;

  const auto weight = [&](const Tensor& x) { return static_cast<double>(x.as<const float>()[head]); };
  const double step = softplus(static_cast<double>(token.alpha[head]) + weight(args.dt_bias));
  const double decay = std::exp(weight(args.a) * step);
  const double beta = 1 / (1 + std::exp(-static_cast<double>(token.beta[head])));
  const double k_scale = inverse_length(k, n, args.eps);
  const double q_scale = inverse_length(q, n, args.eps) / std::sqrt(static_cast<double>(n));

  for (int64_t value = 0; value < n; ++value) {
    float* row = state + value * n;
    const double seen = decay * k_scale * dot(row, k, n);
    const double delta = beta * (static_cast<double>(v[value]) - seen) * k_scale;
    for (int64_t key = 0; key < n; ++key) {
      row[key] =
          static_cast<float>(decay * static_cast<double>(row[key]) + delta * static_cast<double>(k[key]));
    }
    if (out) out[value] = static_cast<float>(q_scale * dot(row, q, n));
  }
}

// Positions [first, end) of a run.
void walk_head(const GatedDeltaNetArgs& args, const SequenceRun& run, int64_t head, int64_t first,
               int64_t end, float* state) {
  const int64_t n = args.memory.state.ne[0], n_value_head = args.memory.state.ne[2];
  for (int64_t pos = first; pos < end; ++pos) {
    const bool is_kept = pos < run.pos;
    const int64_t token = run.first + pos - run.pos;
    const auto inputs = is_kept ? delta_net::kept_inputs(args, run.seq, pos % args.memory.kept.ne[1])
                                : delta_net::inputs_of(args, token);
    float* out = is_kept ? nullptr : args.out.as<float>() + (token * n_value_head + head) * n;
    step_head(args, inputs, head, state, out);
  }
}

void run_gated_delta_net_scalar(Stream& stream, const GatedDeltaNetArgs& args) {
  const int64_t n = args.memory.state.ne[0], n_value_head = args.memory.state.ne[2];
  const int64_t n_tokens = args.qkv.ne[1];
  parallel_rows(pool_of(stream), n_value_head, n * n * n_tokens, [&](int64_t first_head, int64_t end_head) {
    for (int64_t first = 0; first < n_tokens;) {
      const SequenceRun run = run_from(args.batch, first);
      for (int64_t head = first_head; head < end_head; ++head) {
        float* state = args.memory.state.as<float>() + (run.seq * n_value_head + head) * n * n;
        if (run.starts_from_zero()) std::fill_n(state, n * n, 0.0f);
        walk_head(args, run, head, run.from, run.to, state);
        if (run.to < run.end_pos()) {
          float* beyond = reinterpret_cast<float*>(stream.scratch().data()) + head * n * n;
          std::copy_n(state, n * n, beyond);
          walk_head(args, run, head, run.to, run.end_pos(), beyond);
        }
      }
      first = run.end;
    }
  });
  delta_net::keep_inputs(args, 0, 1);
}

// For a state that goes on where the stored one stays.
size_t scratch_of_scalar(const GatedDeltaNetArgs& args, int) {
  if (!args.memory.kept) return 0;
  const Tensor& state = args.memory.state;
  return static_cast<size_t>(state.ne[0] * state.ne[1] * state.ne[2]) * sizeof(float);
}

template <const delta_net::Kernels& kernels>
void run_gated_delta_net(Stream& stream, const GatedDeltaNetArgs& args) {
  delta_net::run_heads(stream, args, kernels);
}

}  // namespace

void fill_gated_delta_net(OpTable& table, [[maybe_unused]] Isa isa) {
  table.gated_delta_net = {run_gated_delta_net_scalar, scratch_of_scalar};
#if PARLANCE_X86
  if (isa == Isa::avx2) {
    table.gated_delta_net = {run_gated_delta_net<delta_net::kAvx2>, delta_net::scratch_of_heads};
  }
  if (is_avx512(isa)) {
    table.gated_delta_net = {run_gated_delta_net<delta_net::kAvx512>, delta_net::scratch_of_heads};
  }
#elif PARLANCE_NEON
  if (is_neon(isa)) {
    table.gated_delta_net = {run_gated_delta_net<delta_net::kNeon>, delta_net::scratch_of_heads};
  }
#endif
}

}  // namespace parlance
