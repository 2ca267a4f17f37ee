// What one part of a model needs to run on its device: a stream with its workspace, the part's memory of the
// sequences (keys and values, recurrent states), and the inputs of a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/draft_part.h"
#include "engine/input_lists.h"
#include "engine/step_size.h"
#include "engine/text_model.h"
#include "kv/cache.h"
#include "kv/recurrent_state.h"
#include "sampling/token_draw.h"

namespace parlance {

struct SessionOptions;

// What is to be told of the rows whose outputs are wanted: what embeddings are pooled from [n_embd], logits
// [n_logits], the token whose logit is the largest, -1 where a logit is no number, or the highest logits
// (TopLogitsArgs), while all of them stay where they are.
enum class Wanted : uint8_t { pooled, logits, tokens, top };

// A batch in host memory. The rows of a sequence lie next to each other, in order of position.
struct HostBatch {
  struct Rows {  // in place of the embeddings of consecutive tokens
    int64_t first;
    std::span<const float> rows;
  };

  std::vector<int32_t> token, seq, pos;       // of each row
  std::vector<int32_t> state_from, state_to;  // likewise, see Recurrence
  std::vector<int32_t> output_row;            // whose outputs are wanted
  std::vector<int32_t> copies;                // see KvCopyArgs
  std::vector<TokenDraw> draws;               // of each row, where step_behind() finds its token
  Wanted wanted = Wanted::logits;             // of these
  std::vector<Rows> embedded;
  int64_t n_kv_bound = 0;  // no position reaches it

  int64_t n_tokens() const { return static_cast<int64_t>(token.size()); }
  int64_t n_outputs() const { return static_cast<int64_t>(output_row.size()); }
  int64_t n_copies() const { return static_cast<int64_t>(copies.size()) / 4; }
};

class PartRunner {
 public:
  // Allocates cache and workspace. Errors: a context or format that does not fit, kernels that the device
  // lacks.
  static Result<std::unique_ptr<PartRunner>> create(const TextModel& model, size_t part,
                                                    const SessionOptions& options, PageCounts n_pages);

  Stream& stream() { return *stream_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  // Of a step, that the device computes each as if it were alone: see Device::most_alike_rows().
  int64_t most_alike_rows() const { return most_alike_rows_; }

  KvCache& cache() { return *cache_; }
  // All that pages of sequences are numbers of: the model's keys and values, and a drafter's beside them.
  std::span<KvCache* const> caches() const { return caches_; }

  size_t recurrent_bytes() const { return states_->bytes(); }  // of all sequences
  // The recurrent states of a sequence in the part, in host memory.
  size_t state_bytes() const { return states_->layout().bytes(); }
  Result<void> save_states(int seq, std::span<std::byte> bytes) {
    return states_->save(*stream_, seq, bytes);
  }
  void restore_states(int seq, std::span<const std::byte> bytes) { states_->restore(*stream_, seq, bytes); }

  // What one part leaves to the next, in host memory and both [n_embd, n_tokens]: the residual stream, and
  // what a block drafter has made of it so far; empty where there is none.
  struct Before {
    std::span<const float> h, features;
  };

  // Computes layers of the part for a batch; nothing is before the model's first. The result stays on the
  // device and is valid until the next call: the residual stream [n_embd, n_tokens], behind the model's last
  // layer what is wanted of n_outputs rows (i32 for tokens); absent when nothing was wanted, the step was
  // cancelled or the device failed.
  Tensor step(const HostBatch& batch, const Before& before, const LayerRange& layers);
  // The same for all layers of the part.
  Tensor step(const HostBatch& batch, const Before& before) { return step(batch, before, layers()); }
  // Of a whole model: a step whose rows are the outputs of the last one, in their order and one position
  // further each, before anybody has read them. Their tokens are those that the batch's draws take of what
  // was `told` of these: the largest logit's tokens, or the highest logits. Begins a download of what was
  // told, and of the tokens.
  Tensor step_behind(const HostBatch& batch, const Tensor& told);
  // Behind the model's last layer, all logits [n_logits, n_outputs] of the last step, on the device; absent
  // where none were computed.
  const Tensor& logits() const { return logits_; }
  // What the drafter has made of the last step's layers, [n_embd, n_tokens] on the device; absent where it
  // reads none of them, nor of those before.
  Tensor features(int64_t n_tokens) const;

  // Whether a batch may go through some layers now and through others later, with steps of other batches in
  // between. Not where steps are recorded, which takes whole ones of few sizes; nor beside other parts or
  // drafters, which take in what all layers yield.
  bool can_pause() const { return can_pause_; }

  // Who looks at the queries of steps from now on; null: nobody. Not while steps are recorded.
  void show_queries(const QueryTap* tap) { queries_ = tap; }

  // A pass of the drafter: what DraftPart::draft() says, valid until the next call.
  Tensor draft(const HostBlocks& blocks) { return draft_->draft(*stream_, blocks); }

  // Stores `noise` as keys and values of every attention layer at the batch's positions.
  Result<void> write_noise(const HostBatch& batch, std::span<const float> noise);

 private:
  // How large the tensors of a step are; steps of one shape are one recording.
  struct Shape {
    int64_t n_tokens = 0, n_outputs = 0, n_kv_bound = 0;
    Wanted wanted = Wanted::logits;
    int64_t n_copies = 0;
    RunBounds runs = {};
    bool is_recorded = false;
    uint64_t key() const;
  };

  PartRunner(const TextModel& model, size_t part) : model_(model), part_(part) {}
  Result<void> allocate(const SessionOptions& options, PageCounts n_pages);
  Result<Plan> plan_steps(const SessionOptions& options);
  Shape shape_of(const HostBatch& batch) const;
  Batch batch_of(const Shape& shape) const;
  Wants wants_of(const Shape& shape) const;
  // What a step leaves.
  struct StepOutputs {
    Tensor told;    // of what was wanted
    Tensor logits;  // all of them, where there are any
  };
  StepOutputs result_of(const Outputs& outputs, const Shape& shape);
  Tensor run(const HostBatch& host, const Shape& shape, const Batch& batch, const LayerRange& layers);
  const KvLayers* draft_layers() { return draft_ ? &draft_->layers(*stream_) : nullptr; }
  Outputs forward(const Shape& shape, const Batch& batch, const SequenceMemory& memory, const KvLayers* draft,
                  const LayerRange& layers);
  LayerRange layers() const { return model_.model().placement().layers_of(part_); }
  Batch upload(const HostBatch& batch, const Shape& shape);
  SequenceMemory memory() { return {cache_->layers(*stream_), states_->layers()}; }

  const TextModel& model_;
  size_t part_;
  int64_t n_batch_ = 0;
  int64_t n_seq_ = 0;  // also the number of the sequence that fills up recorded steps
  int64_t n_outputs_ = 0;
  int64_t most_alike_rows_ = INT64_MAX;
  int64_t n_kv_bound_ = 0;  // of the whole context
  bool has_rope_pos_ = false;
  bool can_pause_ = false;
  const QueryTap* queries_ = nullptr;
  InputLists inputs_;                 // of a batch
  InputLists copies_;                 // of one with branches
  std::unique_ptr<Buffer> h_buffer_;  // f32 [n_embd, n_batch]; the first part needs it to pause
  Tensor h_;
  std::unique_ptr<Buffer>
      embd_buffer_;  // f32 [n_embd, n_batch], for the first part where embeddings are taken
  Tensor embd_;
  std::vector<RowsAt> embedded_;  // of the last batch
  std::unique_ptr<KvCache> cache_;
  std::shared_ptr<const Dflash> drafter_;    // null: there is none
  std::unique_ptr<Buffer> features_buffer_;  // f32 [n_embd, n_batch], of the drafter
  Tensor features_;
  std::unique_ptr<DraftPart> draft_;  // of the last part, where there is a drafter
  std::vector<KvCache*> caches_;
  std::unique_ptr<RecurrentState> states_;
  std::unique_ptr<Stream> stream_;                     // ends before the memory that its last operations use
  std::unordered_map<uint64_t, StepOutputs> outputs_;  // by step key: what a recorded step leaves, and where
  Tensor logits_;                                      // of the last step
  size_t workspace_bytes_ = 0;
};

}  // namespace parlance
