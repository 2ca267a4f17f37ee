// gated_delta_net by value heads: which part of which head a thread works on, and in which pieces it takes
// the tokens.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/checked.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/delta_net/kernels.h"
#include "kernels/cpu/sequence_runs.h"

namespace parlance::delta_net {

namespace {

// Heads are cut into parts until there are so many, which evens out what the threads do.
constexpr int64_t kTasksPerThread = 2;
// For fewer tokens the state is not transposed, and back.
constexpr int64_t kLeastTransposedTokens = 8;

// A thread's scratch memory, in floats.
struct HeadScratch {
  explicit HeadScratch(const GatedDeltaNetArgs& args) {
    const int64_t n = args.memory.state.ne[0];
    stride = align_up(n, kStrideElements);
    rows = stride * stride;
    unwanted = rows + 2 * kChunk * stride;
    total = unwanted + stride;
  }
  int64_t stride;
  int64_t rows;      // where the chunk's rows of k and q begin, behind a state
  int64_t unwanted;  // where outputs go that nobody wants
  int64_t total;
};

float* kept_at(const GatedDeltaNetArgs& args, int64_t seq, int64_t place) {
  const Tensor& kept = args.memory.kept;
  return kept.as<float>() + (seq * kept.ne[1] + place) * kept.ne[0];
}

// Some of the values of one head: a part of the state that nobody else touches.
class HeadPart {
 public:
  HeadPart(const GatedDeltaNetArgs& args, const Kernels& kernels, int64_t head, int64_t first_value,
           int64_t n_values, float* scratch)
      : args_(args),
        kernels_(kernels),
        n_(args.memory.state.ne[0]),
        n_value_head_(args.memory.state.ne[2]),
        n_key_head_((args.qkv.ne[0] / n_ - n_value_head_) / 2),
        head_(head),
        first_value_(first_value),
        scratch_state_(scratch),
        unwanted_(scratch + HeadScratch(args).unwanted) {
    const HeadScratch layout(args);
    chunk_.head_dim = n_;
    chunk_.n_values = n_values;
    chunk_.stride = layout.stride;
    chunk_.k = scratch + layout.rows;
    chunk_.q = chunk_.k + kChunk * layout.stride;
    chunk_.decay = decay_;
    chunk_.beta = beta_;
    chunk_.kq = kq_;
  }

  void advance(const SequenceRun& run) {
    const int64_t n_values = chunk_.n_values;
    float* state =
        args_.memory.state.as<float>() + ((run.seq * n_value_head_ + head_) * n_ + first_value_) * n_;
    if (run.starts_from_zero()) std::fill_n(state, n_values * n_, 0.0f);

    const bool has_whole_vectors = n_ % kStrideElements == 0 && n_values % kStrideElements == 0;
    if (has_whole_vectors && run.end_pos() - run.from >= kLeastTransposedTokens) {
      kernels_.to_columns(state, n_values, n_, scratch_state_);
      walk(run, run.from, run.to, kernels_.advance_columns, scratch_state_);
      if (run.to > run.from) kernels_.from_columns(scratch_state_, n_values, n_, state);
      walk(run, run.to, run.end_pos(), kernels_.advance_columns, scratch_state_);
    } else {
      walk(run, run.from, run.to, kernels_.advance_tokens, state);
      if (run.to == run.end_pos()) return;
      std::copy_n(state, n_values * n_, scratch_state_);
      walk(run, run.to, run.end_pos(), kernels_.advance_tokens, scratch_state_);
    }
  }

 private:
  // Takes positions [first, end) of a run into a state.
  void walk(const SequenceRun& run, int64_t first, int64_t end, void (*advance)(const Chunk&, float*),
            float* state) {
    const int64_t n_places = args_.memory.kept.ne[1];
    for_each_stretch(run, n_places, first, end, [&](int64_t, int64_t place, int64_t n, bool is_kept) {
      const TokenInputs inputs = is_kept ? kept_inputs(args_, run.seq, place) : inputs_of(args_, place);
      const int64_t stride = is_kept ? args_.memory.kept.ne[0] : args_.qkv.ne[0];
      const int64_t gate_stride = is_kept ? stride : n_value_head_;
      chunk_.v_stride = stride;
      chunk_.out_stride = is_kept ? 0 : n_value_head_ * n_;
      for (int64_t i = 0; i < n; i += kChunk) {
        chunk_.n_tokens = std::min(kChunk, n - i);
        chunk_.out = is_kept
                         ? unwanted_
                         : args_.out.as<float>() + ((place + i) * n_value_head_ + head_) * n_ + first_value_;
        prepare({inputs.qkv + i * stride, inputs.alpha + i * gate_stride, inputs.beta + i * gate_stride},
                gate_stride);
        advance(chunk_, state);
      }
    });
  }

  // The chunk of the tokens whose first one has these inputs.
  void prepare(TokenInputs token, int64_t gate_stride) {
    const int64_t key_head = head_ % n_key_head_;
    const int64_t q_at = key_head * n_, k_at = (n_key_head_ + key_head) * n_,
                  v_at = (2 * n_key_head_ + head_) * n_;
    const float q_length = 1 / std::sqrt(static_cast<float>(n_));
    chunk_.v = token.qkv + v_at + first_value_;
    for (int64_t i = 0; i < chunk_.n_tokens; ++i) {
      kernels_.scale_to_length(token.qkv + q_at, q_length, args_.eps, n_, chunk_.q + i * chunk_.stride);
      kernels_.scale_to_length(token.qkv + k_at, 1, args_.eps, n_, chunk_.k + i * chunk_.stride);
      const float step = softplus(token.alpha[head_] + args_.dt_bias.as<const float>()[head_]);
      decay_[i] = std::exp(args_.a.as<const float>()[head_] * step);
      beta_[i] = 1 / (1 + std::exp(-token.beta[head_]));
      kq_[i] = kernels_.dot(chunk_.k + i * chunk_.stride, chunk_.q + i * chunk_.stride, chunk_.stride);
      token = {token.qkv + chunk_.v_stride, token.alpha + gate_stride, token.beta + gate_stride};
    }
  }

  static float softplus(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

  const GatedDeltaNetArgs& args_;
  const Kernels& kernels_;
  const int64_t n_;  // head_dim
  const int64_t n_value_head_;
  const int64_t n_key_head_;
  const int64_t head_;
  const int64_t first_value_;
  float* const scratch_state_;  // as to_columns() puts it, or as it is
  float* const unwanted_;       // outputs of what was kept
  float decay_[kChunk];
  float beta_[kChunk];
  float kq_[kChunk];
  Chunk chunk_{};
};

}  // namespace

TokenInputs inputs_of(const GatedDeltaNetArgs& args, int64_t token) {
  const int64_t n_value_head = args.memory.state.ne[2];
  return {args.qkv.as<const float>() + token * args.qkv.ne[0],
          args.alpha.as<const float>() + token * n_value_head,
          args.beta.as<const float>() + token * n_value_head};
}

TokenInputs kept_inputs(const GatedDeltaNetArgs& args, int64_t seq, int64_t place) {
  const float* qkv = kept_at(args, seq, place);
  return {qkv, qkv + args.qkv.ne[0], qkv + args.qkv.ne[0] + args.memory.state.ne[2]};
}

// Nobody reads the places that are written: they are those of other positions than what is taken in again.
void keep_inputs(const GatedDeltaNetArgs& args, int64_t share, int64_t n_shares) {
  if (!args.memory.kept) return;
  const int64_t n = args.qkv.ne[0], n_value_head = args.memory.state.ne[2], n_tokens = args.qkv.ne[1];
  const int64_t first = n * share / n_shares, end = n * (share + 1) / n_shares;
  for (int64_t token = 0; token < n_tokens;) {
    const SequenceRun run = run_from(args.batch, token);
    token = run.end;
    for (int64_t pos = run.first_kept(); pos < run.end_pos(); ++pos) {
      const TokenInputs inputs = inputs_of(args, run.first + pos - run.pos);
      float* kept = kept_at(args, run.seq, pos % args.memory.kept.ne[1]);
      std::copy(inputs.qkv + first, inputs.qkv + end, kept + first);
      if (share > 0) continue;
      std::copy_n(inputs.alpha, n_value_head, kept + n);
      std::copy_n(inputs.beta, n_value_head, kept + n + n_value_head);
    }
  }
}

void run_heads(Stream& stream, const GatedDeltaNetArgs& args, const Kernels& kernels) {
  ThreadPool& pool = pool_of(stream);
  const HeadScratch layout(args);
  assert(stream.scratch().size() >= scratch_of_heads(args, pool.n_threads()));
  const int64_t n = args.memory.state.ne[0], n_value_head = args.memory.state.ne[2];
  const int64_t n_tokens = args.qkv.ne[1];
  const int64_t n_wanted = div_up(kTasksPerThread * pool.n_threads(), n_value_head);
  const int64_t part = align_up(div_up(n, n_wanted), kStrideElements);
  const int64_t n_parts = div_up(n, part);
  pool.run(n_value_head * n_parts, [&](int64_t task, int thread) {
    const int64_t first_value = task % n_parts * part;
    HeadPart head(args, kernels, task / n_parts, first_value, std::min(part, n - first_value),
                  reinterpret_cast<float*>(stream.scratch().data()) + thread * layout.total);
    for (int64_t token = 0; token < n_tokens;) {
      const SequenceRun run = run_from(args.batch, token);
      head.advance(run);
      token = run.end;
    }
    keep_inputs(args, task, n_value_head * n_parts);
  });
}

size_t scratch_of_heads(const GatedDeltaNetArgs& args, int n_threads) {
  return static_cast<size_t>(n_threads * HeadScratch(args).total) * sizeof(float);
}

}  // namespace parlance::delta_net
