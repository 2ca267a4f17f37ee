// One conversation on a model: its tokens, their keys and values, and the step that extends them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/part_runner.h"
#include "engine/snapshots.h"
#include "engine/text_model.h"
#include "kv/cache.h"
#include "kv/policy.h"
#include "kv/recurrent_state.h"

namespace parlance {

struct SessionOptions {
  int64_t n_ctx = 4096;   // 0: as long as the model was trained for
  int64_t n_batch = 512;  // tokens that go through the model together in prefill
  KvPolicy cache = {};
};

// Bounds on positions, which steps are recorded for, are multiples of this.
inline constexpr int64_t kBoundStride = 256;

// The cache of n_layer of a model's attention layers.
KvLayout kv_layout(const HyperParameters& hp, const SessionOptions& options, int64_t n_layer);

// The states of n_layer of its recurrent layers.
RecurrentLayout recurrent_layout(const HyperParameters& hp, int64_t n_layer);

class Session {
 public:
  // Allocates cache and workspace. Errors: a context or format that does not fit, kernels that the device
  // lacks.
  static Result<std::unique_ptr<Session>> create(const TextModel& model, const SessionOptions& options);

  const TextModel& model() const { return model_; }
  int64_t n_ctx() const { return options_.n_ctx; }
  const std::vector<Token>& tokens() const { return tokens_; }
  size_t kv_bytes_per_token() const;
  size_t state_bytes() const;  // of the recurrent layers; 0 when there are none
  // Of their snapshots in host memory, at most.
  size_t snapshot_bytes() const { return snapshots_.capacity() * state_bytes(); }
  size_t workspace_bytes() const;  // on all devices together

  // Forgets the tokens from position n_tokens on. Recurrent layers go back to a snapshot at or before it; the
  // tokens in between are computed again with the next ones.
  void truncate(int64_t n_tokens);

  // Puts `prompt` in place of the current tokens, keeping the longest common beginning, and computes the
  // rest. Yields the logits of the last token: n_vocab values, valid until the next call. Errors:
  // invalid_argument for an empty prompt, a token outside the vocabulary or a prompt beyond the context;
  // cancelled.
  Result<std::span<const float>> set_prompt(std::span<const Token> prompt);

  // Appends tokens and yields the logits of the last one.
  Result<std::span<const float>> append(std::span<const Token> tokens);

  // Fills the memory up to position n_tokens with noise, so that a depth can be timed without computing it.
  Result<void> fill_with_noise(int64_t n_tokens);

  // A request is what cancel() stops: its running step ends between two kernels and reports `cancelled`, its
  // tokens are forgotten, and so does every later step of the request. begin_request() starts the next one.
  void begin_request() { request_ = generation_.load(std::memory_order_relaxed); }
  void cancel() { generation_.fetch_add(1, std::memory_order_relaxed); }  // from any thread or signal handler
  bool cancelled() const { return generation_.load(std::memory_order_relaxed) != request_; }

 private:
  Session(const TextModel& model, const SessionOptions& options) : model_(model), options_(options) {}
  Result<void> allocate();
  Result<std::span<const float>> extend(std::span<const Token> tokens, int64_t snapshot_at);
  Result<void> compute(int64_t snapshot_at);
  HostBatch next_batch(int64_t n_tokens) const;
  Result<void> step(int64_t n_tokens);
  Result<void> save_snapshot();
  void go_back(int64_t n_tokens);

  const TextModel& model_;
  SessionOptions options_;
  std::vector<std::unique_ptr<PartRunner>> parts_;
  std::vector<Token> tokens_;
  int64_t n_computed_ = 0;  // of the tokens: what the parts' memory has taken in
  Snapshots snapshots_{0};
  std::vector<float> h_;  // the residual stream on its way from one part to the next
  std::vector<float> logits_;
  std::atomic<uint64_t> generation_{0};
  uint64_t request_ = 0;
};

}  // namespace parlance
