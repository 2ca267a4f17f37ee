// What one part of a model needs to run on its device: a stream with its workspace, the part's memory of the
// sequence (keys and values, recurrent states), and the inputs of a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/text_model.h"
#include "kv/cache.h"
#include "kv/recurrent_state.h"

namespace parlance {

struct SessionOptions;

// A batch in host memory: tokens of one sequence at the positions from `first` on.
struct HostBatch {
  int seq = 0;  // its row of the page tables
  std::span<const Token> tokens;
  int64_t first = 0;
  int64_t n_kv_bound = 0;  // no position reaches it; steps are recorded for a bound, not for every length
  int64_t n_outputs = 1;   // the last tokens, whose logits are wanted
  std::span<const float> embd = {};  // rows in place of the embeddings of consecutive tokens, or none
  int64_t first_embd = 0;            // the first of these tokens, in the batch

  int64_t n_tokens() const { return static_cast<int64_t>(tokens.size()); }
};

class PartRunner {
 public:
  // Allocates cache and workspace. Errors: a context or format that does not fit, kernels that the device
  // lacks.
  static Result<std::unique_ptr<PartRunner>> create(const TextModel& model, size_t part,
                                                    const SessionOptions& options, PageCounts n_pages);

  Stream& stream() { return *stream_; }
  size_t workspace_bytes() const { return workspace_bytes_; }

  KvCache& cache() { return *cache_; }

  // The recurrent states of the part, for its one sequence, in host memory.
  size_t state_bytes() const { return states_->layout().bytes(); }
  Result<void> save_states(std::span<std::byte> bytes) { return states_->save(*stream_, 0, bytes); }
  void restore_states(std::span<const std::byte> bytes) { states_->restore(*stream_, 0, bytes); }

  // Computes the part for a batch. `h` is the residual stream [n_embd, n_tokens] of the part before, empty
  // for the first part. The result stays on the device and is valid until the next call; an absent tensor
  // when it was cancelled or the device failed.
  Tensor step(const HostBatch& batch, std::span<const float> h);

  // Stores `noise` as keys and values of every attention layer at the batch's positions.
  Result<void> write_noise(const HostBatch& batch, std::span<const float> noise);

 private:
  PartRunner(const TextModel& model, size_t part) : model_(model), part_(part) {}
  Result<void> allocate(const SessionOptions& options, PageCounts n_pages);
  Result<Plan> plan_steps(const SessionOptions& options);
  Tensor input(int which, int64_t n) const;
  Batch batch_of(int64_t n_tokens, int64_t n_kv_bound) const;
  Wants wants_of(int64_t n_outputs) const;
  Batch upload(const HostBatch& batch);
  SequenceMemory memory() { return {cache_->layers(*stream_), states_->layers()}; }

  const TextModel& model_;
  size_t part_;
  int64_t n_batch_ = 0;
  bool has_rope_pos_ = false;
  std::unique_ptr<Buffer> inputs_;    // token, seq, pos, rotary positions and output rows of a batch
  std::unique_ptr<Buffer> h_buffer_;  // f32 [n_embd, n_batch], not for the first part
  Tensor h_;
  std::unique_ptr<Buffer>
      embd_buffer_;  // f32 [n_embd, n_batch], for the first part where embeddings are taken
  Tensor embd_;
  RowsAt embedded_ = {};  // of the last batch
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<RecurrentState> states_;
  std::unique_ptr<Stream> stream_;  // ends before the memory that its last operations use
  std::vector<int32_t> host_inputs_;
  std::unordered_map<uint64_t, Tensor> outputs_;  // by step key: where a recorded step leaves its result
  size_t workspace_bytes_ = 0;
};

}  // namespace parlance
