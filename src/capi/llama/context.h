// A context as programs of llama.cpp hold it: sequences by number, the outputs of the last batch, and times.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "capi/handles.h"
#include "capi/llama/batch.h"
#include "capi/llama/model.h"
#include "capi/llama/report.h"
#include "capi/llama/sequence_text.h"
#include "engine/context.h"

namespace parlance::capi {

// What a program asked for, as far as it is told again.
struct LlamaContextShape {
  uint32_t n_ctx = 0, n_ctx_seq = 0, n_batch = 0, n_ubatch = 0, n_seq_max = 1;
  int32_t n_threads = 0, n_threads_batch = 0;
  bool is_unified = false;  // sequences share n_ctx
  enum llama_pooling_type pooling = LLAMA_POOLING_TYPE_NONE;
};

// Of the last batch. Rows lie in the order of the batch.
struct LlamaOutputs {
  std::vector<int32_t> row_of;  // by index in the batch; below 0: none was wanted
  int32_t n_rows = 0;
  std::vector<float> logits;                          // [n_vocab, n_rows]; empty: not computed
  std::vector<float> embeddings;                      // [n_embd, n_rows]; likewise
  std::map<llama_seq_id, std::vector<float>> pooled;  // [n_embd]
};

// From one thread at a time: whoever holds mutex().
class LlamaContext {
 public:
  static constexpr HandleKind kKind = HandleKind::llama_context;

  // Errors: what is asked for that there is no code for; as Context::create().
  static Result<std::shared_ptr<LlamaContext>> create(const llama_model* handle,
                                                      std::shared_ptr<LlamaModel> model,
                                                      const llama_context_params& params);

  std::mutex& mutex() const { return mutex_; }
  // These do not change, and need no mutex.
  const llama_model* model_handle() const { return model_handle_; }
  const LlamaModel& model() const { return *model_; }
  const LlamaContextShape& shape() const { return shape_; }

  void set_embeddings(bool are_wanted) { wants_embeddings_ = are_wanted; }
  void set_abort(ggml_abort_callback callback, void* data) {
    abort_ = callback;
    abort_data_ = data;
  }
  void set_threads(int32_t n_threads, int32_t n_threads_batch);

  // decode.cpp. The codes of llama_decode(); what is below 0 or 1 has a line in the log.
  int32_t decode(const llama_batch& batch);
  // Null: there are none, which the log says. Logits beside embeddings are computed when first asked for.
  float* logits();
  float* logits_of(int32_t i);
  float* embeddings();
  float* embeddings_of(int32_t i);
  float* pooled_of(llama_seq_id seq);

  // memory.cpp
  void clear();
  Result<void> remove(llama_seq_id seq, PosRange range);
  Result<void> copy(llama_seq_id from, llama_seq_id to, PosRange range);
  Result<void> keep(llama_seq_id seq);
  Result<void> move(llama_seq_id seq, PosRange range, llama_pos delta);
  llama_pos first_of(llama_seq_id seq) const;  // -1: it is empty
  llama_pos last_of(llama_seq_id seq) const;

  // state.cpp. A sequence as bytes; `tokens` is what a program wants to find beside it.
  Result<std::vector<std::byte>> save(llama_seq_id seq);
  Result<void> restore(llama_seq_id seq, std::span<const std::byte> bytes);

  // perf.cpp
  llama_perf_context_data times() const;
  void reset_times();

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> check_sequence(llama_seq_id seq) const;
  Result<SequenceText*> open(llama_seq_id seq);
  void drop_if_empty(llama_seq_id seq);
  void changed() { last_parts_.clear(); }

  int32_t run(std::vector<BatchPart> parts, const llama_batch& batch);
  bool has_room_for(const std::vector<BatchPart>& parts) const;
  Result<void> append(const BatchPart& part);
  Result<void> compute(std::span<const BatchPart> parts, bool wants_logits, const Cancellation& ticket);
  void take_row(const BatchPart& part, size_t row, bool is_logits, std::span<const float> values);
  void pool(const BatchPart& part, size_t row, std::span<const float> values);
  const BatchPart* leader_of(std::span<const BatchPart> parts, size_t i) const;
  Result<void> compute_logits_too();
  bool are_pooled() const { return wants_embeddings_ && shape_.pooling != LLAMA_POOLING_TYPE_NONE; }
  std::optional<int32_t> row_of(int32_t i) const;
  Result<void> compute_pending(SequenceText& text);
  Result<SequenceText> fork_of(const SequenceText& text);

  const llama_model* model_handle_ = nullptr;
  std::shared_ptr<LlamaModel> model_;
  std::shared_ptr<TextWeights> weights_;
  LlamaContextShape shape_;
  bool wants_embeddings_ = false;
  bool is_timed_ = false;
  ggml_abort_callback abort_ = nullptr;
  void* abort_data_ = nullptr;
  int64_t n_vocab_ = 0, n_embd_ = 0;

  mutable std::mutex mutex_;
  std::shared_ptr<Context> context_;
  std::map<llama_seq_id, SequenceText> sequences_;  // those that hold something
  LlamaOutputs outputs_;
  std::vector<BatchPart> last_parts_;  // as long as sequences hold them as their last

  Clock::time_point start_ = Clock::now();
  double prompt_ms_ = 0, answer_ms_ = 0;
  int32_t n_prompt_ = 0, n_answer_ = 0;
};

// The object behind a handle, of a context or of its memory; null, and a line in the log, where there is
// none.
std::shared_ptr<LlamaContext> llama_context_of(const char* function, const void* handle);

// What `body` yields of a context that nobody else uses meanwhile.
template <class R, class Body>
R with_llama_context(const char* function, const void* handle, R otherwise, Body&& body) {
  return llama_answer(function, otherwise, [&]() -> Result<R> {
    const auto context = llama_context_of(function, handle);
    if (!context) return otherwise;
    const std::lock_guard lock(context->mutex());
    return body(*context);
  });
}

}  // namespace parlance::capi
