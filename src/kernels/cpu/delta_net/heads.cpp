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
    const int64_t n = args.state.ne[0];
    stride = align_up(n, kStrideElements);
    rows = stride * stride;
    total = rows + 2 * kChunk * stride;
  }
  int64_t stride;
  int64_t rows;  // where the chunk's rows of k and q begin, behind the transposed state
  int64_t total;
};

// Some of the values of one head: a part of the state that nobody else touches.
class HeadPart {
 public:
  HeadPart(const GatedDeltaNetArgs& args, const Kernels& kernels, int64_t head, int64_t first_value,
           int64_t n_values, float* scratch)
      : args_(args),
        kernels_(kernels),
        n_(args.state.ne[0]),
        n_value_head_(args.state.ne[2]),
        n_key_head_((args.qkv.ne[0] / n_ - n_value_head_) / 2),
        head_(head),
        first_value_(first_value),
        columns_(scratch) {
    const HeadScratch layout(args);
    chunk_.head_dim = n_;
    chunk_.n_values = n_values;
    chunk_.stride = layout.stride;
    chunk_.v_stride = args.qkv.ne[0];
    chunk_.out_stride = n_value_head_ * n_;
    chunk_.k = scratch + layout.rows;
    chunk_.q = chunk_.k + kChunk * layout.stride;
    chunk_.decay = decay_;
    chunk_.beta = beta_;
    chunk_.kq = kq_;
  }

  void advance(const SequenceRun& run) {
    const int64_t n_values = chunk_.n_values;
    float* state = args_.state.as<float>() + ((run.seq * n_value_head_ + head_) * n_ + first_value_) * n_;
    if (run.starts_sequence) std::fill_n(state, n_values * n_, 0.0f);

    const bool has_whole_vectors = n_ % kStrideElements == 0 && n_values % kStrideElements == 0;
    if (has_whole_vectors && run.n_tokens() >= kLeastTransposedTokens) {
      kernels_.to_columns(state, n_values, n_, columns_);
      for (int64_t token = run.first; token < run.end; token += kChunk) {
        prepare(token, run.end);
        kernels_.advance_columns(chunk_, columns_);
      }
      kernels_.from_columns(columns_, n_values, n_, state);
    } else {
      for (int64_t token = run.first; token < run.end; token += kChunk) {
        prepare(token, run.end);
        kernels_.advance_tokens(chunk_, state);
      }
    }
  }

 private:
  // The chunk of the tokens from `first` on, of which the last is before `end`.
  void prepare(int64_t first, int64_t end) {
    const int64_t token_elements = args_.qkv.ne[0];
    const float* token = args_.qkv.as<const float>() + first * token_elements;
    const int64_t key_head = head_ % n_key_head_;
    const int64_t q_at = key_head * n_, k_at = (n_key_head_ + key_head) * n_,
                  v_at = (2 * n_key_head_ + head_) * n_;
    const float q_length = 1 / std::sqrt(static_cast<float>(n_));
    chunk_.n_tokens = std::min(kChunk, end - first);
    chunk_.v = token + v_at + first_value_;
    chunk_.out = args_.out.as<float>() + (first * n_value_head_ + head_) * n_ + first_value_;
    for (int64_t i = 0; i < chunk_.n_tokens; ++i, token += token_elements) {
      kernels_.scale_to_length(token + q_at, q_length, args_.eps, n_, chunk_.q + i * chunk_.stride);
      kernels_.scale_to_length(token + k_at, 1, args_.eps, n_, chunk_.k + i * chunk_.stride);
      const float step = softplus(gate(args_.alpha, first + i) + args_.dt_bias.as<const float>()[head_]);
      decay_[i] = std::exp(args_.a.as<const float>()[head_] * step);
      beta_[i] = 1 / (1 + std::exp(-gate(args_.beta, first + i)));
      kq_[i] = kernels_.dot(chunk_.k + i * chunk_.stride, chunk_.q + i * chunk_.stride, chunk_.stride);
    }
  }

  float gate(const Tensor& x, int64_t token) const {
    return x.as<const float>()[token * n_value_head_ + head_];
  }
  static float softplus(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

  const GatedDeltaNetArgs& args_;
  const Kernels& kernels_;
  const int64_t n_;  // head_dim
  const int64_t n_value_head_;
  const int64_t n_key_head_;
  const int64_t head_;
  const int64_t first_value_;
  float* const columns_;  // as to_columns() puts the state
  float decay_[kChunk];
  float beta_[kChunk];
  float kq_[kChunk];
  Chunk chunk_{};
};

}  // namespace

void run_heads(Stream& stream, const GatedDeltaNetArgs& args, const Kernels& kernels) {
  ThreadPool& pool = pool_of(stream);
  const HeadScratch layout(args);
  assert(stream.scratch().size() >= scratch_of_heads(args, pool.n_threads()));
  const int64_t n = args.state.ne[0], n_value_head = args.state.ne[2], n_tokens = args.qkv.ne[1];
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
  });
}

size_t scratch_of_heads(const GatedDeltaNetArgs& args, int n_threads) {
  return static_cast<size_t>(n_threads * HeadScratch(args).total) * sizeof(float);
}

}  // namespace parlance::delta_net
