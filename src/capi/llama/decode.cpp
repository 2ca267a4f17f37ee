// Batches through the model: whose rows they are, what is computed of them, and the outputs that are kept.
#include <algorithm>
#include <condition_variable>
#include <thread>

#include "capi/llama/context.h"
#include "engine/elapsed.h"
#include "engine/scheduler.h"
#include "engine/task.h"

namespace parlance::capi {

namespace {

// What llama_decode() yields.
constexpr int32_t kDone = 0, kNoRoom = 1, kAborted = 2, kInvalidBatch = -1, kFailed = -2;

// What a sequence lacks, and outputs of its last rows, from the first on.
class RowsTask final : public Task {
 public:
  using Take = std::function<void(size_t row, std::span<const float> values)>;

  RowsTask(Sequence& sequence, const Work& work, int64_t n_outputs, bool wants_logits, Take take)
      : Task(sequence, work), take_(std::move(take)) {
    n_outputs_ = n_outputs;
    wants_logits_ = wants_logits;
  }
  const Result<void>& outcome() const { return outcome_; }

 private:
  void take(std::span<const float> rows, int64_t n_rows) override {
    const size_t width = rows.size() / static_cast<size_t>(n_rows);
    for (int64_t i = 0; i < n_rows; ++i)
      take_(n_taken_++, rows.subspan(static_cast<size_t>(i) * width, width));
  }
  bool computed() override { return false; }
  void begin_again() override { n_taken_ = 0; }
  void end(Result<void> outcome) override { outcome_ = std::move(outcome); }

  const Take take_;
  size_t n_taken_ = 0;
  Result<void> outcome_;
};

// Asks a program from time to time whether to go on, while something is computed.
class AbortWatch {
 public:
  AbortWatch(ggml_abort_callback ask, void* data) : ask_(ask), data_(data), ticket_(source_.ticket()) {
    if (!ask_) return;
    look();
    thread_ = std::thread([this] { watch(); });
  }
  ~AbortWatch() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  AbortWatch(const AbortWatch&) = delete;
  AbortWatch& operator=(const AbortWatch&) = delete;

  const Cancellation& ticket() const { return ticket_; }

 private:
  static constexpr std::chrono::milliseconds kInterval{2};

  void look() {
    if (ask_(data_)) source_.cancel();
  }
  void watch() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kInterval, [this] { return is_over_; })) look();
  }

  const ggml_abort_callback ask_;
  void* const data_;
  const CancellationSource source_;
  const Cancellation ticket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

int32_t decode_code_of(const Error& error) {
  if (error.code == ErrorCode::out_of_memory) return kNoRoom;
  return error.code == ErrorCode::cancelled ? kAborted : kFailed;
}

}  // namespace

// Whose content a part's sequence has too when that has been computed: it comes after that one's, with the
// same rows, and both have held the same until now. Null: nobody's.
const BatchPart* LlamaContext::leader_of(std::span<const BatchPart> parts, size_t i) const {
  const BatchPart& part = parts[i];
  if (are_pooled() || std::ranges::any_of(part.rows, &BatchPart::Row::is_wanted)) return nullptr;
  const auto held = [this](const BatchPart& p) {
    const auto known = sequences_.find(p.seq);
    return known == sequences_.end() ? TokenRuns() : known->second.runs();
  };
  const auto is_same = [](const BatchPart::Row& a, const BatchPart::Row& b) { return a.index == b.index; };
  const auto is_same_run = [](const TokenRun& a, const TokenRun& b) {
    return a.first == b.first && a.tokens == b.tokens;
  };
  for (size_t j = 0; j < i; ++j) {
    const BatchPart& other = parts[j];
    if (other.first == part.first && std::ranges::equal(other.rows, part.rows, is_same) &&
        std::ranges::equal(held(other), held(part), is_same_run)) {
      return &other;
    }
  }
  return nullptr;
}

bool LlamaContext::has_room_for(const std::vector<BatchPart>& parts) const {
  int64_t n_all = 0;
  for (const auto& [seq, text] : sequences_) n_all += text.sequence().n_tokens();
  for (const BatchPart& part : parts) {
    const auto known = sequences_.find(part.seq);
    const int64_t n_held = known == sequences_.end() ? 0 : known->second.sequence().n_tokens();
    if (n_held + std::ssize(part.rows) > shape_.n_ctx_seq) return false;
    n_all += std::ssize(part.rows);
  }
  return !shape_.is_unified || n_all <= shape_.n_ctx;
}

Result<void> LlamaContext::append(const BatchPart& part) {
  PARLANCE_TRY(SequenceText* const text, open(part.seq));
  if (text->is_empty()) text->begin_at(part.first);
  return text->sequence().append(part.tokens, {.rows = part.embeddings});
}

// Computes what was appended. Outputs are kept as they come.
Result<void> LlamaContext::compute(std::span<const BatchPart> parts, bool wants_logits,
                                   const Cancellation& ticket) {
  std::vector<std::unique_ptr<RowsTask>> tasks;
  Scheduler& scheduler = context_->scheduler();
  Result<void> outcome;
  for (const BatchPart& part : parts) {
    const int64_t n_outputs = are_pooled() ? std::ssize(part.rows) : part.n_outputs();
    const size_t first = part.rows.size() - static_cast<size_t>(n_outputs);
    tasks.push_back(std::make_unique<RowsTask>(
        sequences_.at(part.seq).sequence(), Work{.cancellation = ticket}, n_outputs, wants_logits,
        [this, &part, first, wants_logits](size_t row, std::span<const float> values) {
          take_row(part, first + row, wants_logits, values);
        }));
    if (outcome = scheduler.post(*tasks.back()); !outcome) {
      tasks.pop_back();
      break;
    }
  }
  scheduler.wait(
      [&] { return std::ranges::all_of(tasks, [](const auto& task) { return task->is_done(); }); });
  for (const auto& task : tasks) {
    if (outcome && !task->outcome()) outcome = task->outcome();
  }
  return outcome;
}

void LlamaContext::take_row(const BatchPart& part, size_t row, bool is_logits,
                            std::span<const float> values) {
  if (are_pooled()) return pool(part, row, values);
  if (!part.rows[row].is_wanted) return;
  const int32_t place = outputs_.row_of[static_cast<size_t>(part.rows[row].index)];
  std::vector<float>& kept = is_logits ? outputs_.logits : outputs_.embeddings;
  kept.resize(static_cast<size_t>(outputs_.n_rows) * values.size());
  std::ranges::copy(values,
                    kept.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(place) * values.size()));
}

void LlamaContext::pool(const BatchPart& part, size_t row, std::span<const float> values) {
  std::vector<float>& pooled = outputs_.pooled[part.seq];
  if (row == 0) pooled.assign(values.size(), 0);
  const bool is_last = row + 1 == part.rows.size();
  if (shape_.pooling == LLAMA_POOLING_TYPE_CLS ? row == 0
                                               : shape_.pooling == LLAMA_POOLING_TYPE_LAST && is_last) {
    pooled.assign(values.begin(), values.end());
  } else if (shape_.pooling == LLAMA_POOLING_TYPE_MEAN) {
    for (size_t i = 0; i < values.size(); ++i) pooled[i] += values[i];
    if (!is_last) return;
    for (float& value : pooled) value /= static_cast<float>(part.rows.size());
  }
}

int32_t LlamaContext::decode(const llama_batch& batch) {
  std::vector<llama_pos> next;
  for (llama_seq_id seq = 0; seq < static_cast<llama_seq_id>(shape_.n_seq_max); ++seq) {
    const auto known = sequences_.find(seq);
    next.push_back(known == sequences_.end() ? -1 : known->second.end());
  }
  const BatchRules rules{.n_batch = static_cast<int32_t>(shape_.n_batch),
                         .n_vocab = static_cast<int32_t>(n_vocab_),
                         .n_embd = n_embd_,
                         .n_seq = static_cast<llama_seq_id>(shape_.n_seq_max),
                         .wants_all = wants_embeddings_};
  auto parts = read_batch(batch, rules, next);
  if (!parts) {
    llama_log_error("llama_decode", parts.error());
    return kInvalidBatch;
  }
  for (const BatchPart& part : *parts) {
    const auto known = sequences_.find(part.seq);
    if (known == sequences_.end() || !known->second.has_gap()) continue;
    llama_log_error(
        "llama_decode",
        {ErrorCode::invalid_argument,
         fmt::format("sequence {} has a gap, where tokens were removed; close it with llama_memory_seq_add()",
                     part.seq)});
    return kInvalidBatch;
  }
  if (!has_room_for(*parts)) {
    llama_log_error(
        "llama_decode",
        {ErrorCode::out_of_memory,
         fmt::format("there is no room for {} tokens in the context of {}; remove some, or raise n_ctx",
                     batch.n_tokens, shape_.n_ctx)});
    return kNoRoom;
  }
  return run(*std::move(parts), batch);
}

int32_t LlamaContext::run(std::vector<BatchPart> parts, const llama_batch& batch) {
  const Clock::time_point start = Clock::now();
  last_parts_.clear();
  outputs_ = {};
  outputs_.row_of.assign(static_cast<size_t>(batch.n_tokens), -1);
  std::vector<int32_t> wanted;
  for (const BatchPart& part : parts) {
    for (const BatchPart::Row& row : part.rows) {
      if (row.is_wanted) wanted.push_back(row.index);
    }
  }
  std::ranges::sort(wanted);
  for (const int32_t index : wanted) outputs_.row_of[static_cast<size_t>(index)] = outputs_.n_rows++;

  std::vector<BatchPart> computed;
  std::vector<std::pair<llama_seq_id, llama_seq_id>> followers;  // and whom
  for (size_t i = 0; i < parts.size(); ++i) {
    if (const BatchPart* leader = leader_of(parts, i)) {
      followers.emplace_back(parts[i].seq, leader->seq);
    } else {
      computed.push_back(parts[i]);
    }
  }
  std::map<llama_seq_id, int64_t> n_before;
  Result<void> outcome;
  for (const BatchPart& part : computed) {
    const auto known = sequences_.find(part.seq);
    n_before[part.seq] = known == sequences_.end() ? 0 : known->second.sequence().n_tokens();
    if (outcome) outcome = append(part);
  }
  int32_t code = kDone;
  {
    const AbortWatch watch(abort_, abort_data_);
    if (outcome) outcome = compute(computed, !wants_embeddings_, watch.ticket());
  }
  for (const auto& [seq, leader] : followers) {
    if (!outcome) break;
    sequences_.erase(seq);
    auto twin = fork_of(sequences_.at(leader));
    if (twin) {
      sequences_.emplace(seq, *std::move(twin));
    } else {
      outcome = tl::unexpected(twin.error());
    }
  }
  if (!outcome) {
    code = decode_code_of(outcome.error());
    if (code != kAborted) llama_log_error("llama_decode", outcome.error());
    for (const auto& [seq, n] : n_before) {
      const auto known = sequences_.find(seq);
      if (known == sequences_.end()) continue;
      Sequence& sequence = known->second.sequence();
      sequence.truncate(code == kNoRoom ? n : std::max(n, sequence.n_computed()));
      drop_if_empty(seq);
    }
    outputs_ = {};
    return code;
  }
  last_parts_ = std::move(computed);
  if (is_timed_) {
    const bool is_answer = batch.n_tokens == 1;
    (is_answer ? answer_ms_ : prompt_ms_) += ms_between(start, Clock::now());
    (is_answer ? n_answer_ : n_prompt_) += batch.n_tokens;
  }
  return kDone;
}

Result<SequenceText> LlamaContext::fork_of(const SequenceText& text) {
  if (text.sequence().wants_states()) {  // or the twin would have to compute them again
    const Scheduler::Pause pause(context_->scheduler());
    PARLANCE_TRY(StateCopy states, pause.runner().save_states(text.sequence()));
    text.sequence().add_snapshot(std::move(states));
  }
  return text.fork();
}

// The model's pass yields embeddings or logits; who wants both pays for both.
Result<void> LlamaContext::compute_logits_too() {
  if (!outputs_.logits.empty() || outputs_.n_rows == 0) return {};
  if (last_parts_.empty() || are_pooled())
    return fail(ErrorCode::invalid_argument,
                "there are no logits beside pooled embeddings, nor after sequences were changed");
  for (const BatchPart& part : last_parts_) {
    Sequence& sequence = sequences_.at(part.seq).sequence();
    sequence.truncate(sequence.n_tokens() - std::ssize(part.rows));
    PARLANCE_CHECK(sequence.append(part.tokens, {.rows = part.embeddings}));
  }
  return compute(last_parts_, /*wants_logits=*/true, {});
}

std::optional<int32_t> LlamaContext::row_of(int32_t i) const {
  int32_t row = -1;
  if (i < 0) {
    row = outputs_.n_rows + i;
  } else if (i < std::ssize(outputs_.row_of)) {
    row = outputs_.row_of[static_cast<size_t>(i)];
  }
  if (row >= 0 && row < outputs_.n_rows) return row;
  llama_log_error("llama_get_*_ith",
                  {ErrorCode::invalid_argument,
                   fmt::format("the last batch has no output {}; its `logits` say which are kept", i)});
  return std::nullopt;
}

float* LlamaContext::logits() {
  if (const Result<void> there = compute_logits_too(); !there)
    llama_log_error("llama_get_logits", there.error());
  return outputs_.logits.empty() ? nullptr : outputs_.logits.data();
}

float* LlamaContext::logits_of(int32_t i) {
  const auto row = row_of(i);
  float* const all = row ? logits() : nullptr;
  return all ? all + int64_t{*row} * n_vocab_ : nullptr;
}

float* LlamaContext::embeddings() {
  return outputs_.embeddings.empty() ? nullptr : outputs_.embeddings.data();
}

float* LlamaContext::embeddings_of(int32_t i) {
  const auto row = row_of(i);
  float* const all = row ? embeddings() : nullptr;
  return all ? all + int64_t{*row} * n_embd_ : nullptr;
}

float* LlamaContext::pooled_of(llama_seq_id seq) {
  const auto found = outputs_.pooled.find(seq);
  return found == outputs_.pooled.end() ? nullptr : found->second.data();
}

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

int32_t llama_decode(llama_context* ctx, llama_batch batch) {
  return with_llama_context(__func__, ctx, kInvalidBatch,
                            [&](LlamaContext& context) -> Result<int32_t> { return context.decode(batch); });
}

// Of models that read a text as a whole before they answer; none of those that are run does.
int32_t llama_encode(llama_context* ctx, llama_batch) {
  return with_llama_context(__func__, ctx, kInvalidBatch, [](LlamaContext&) -> Result<int32_t> {
    return fail(ErrorCode::unsupported, "the model has no encoder; use llama_decode()");
  });
}

namespace {

// What `read` yields of a context's outputs.
template <class Read>
float* outputs_of(const char* function, llama_context* ctx, Read read) {
  return with_llama_context(function, ctx, static_cast<float*>(nullptr),
                            [&](LlamaContext& context) -> Result<float*> { return read(context); });
}

}  // namespace

float* llama_get_logits(llama_context* ctx) {
  return outputs_of(__func__, ctx, [](LlamaContext& context) { return context.logits(); });
}

float* llama_get_logits_ith(llama_context* ctx, int32_t i) {
  return outputs_of(__func__, ctx, [&](LlamaContext& context) { return context.logits_of(i); });
}

float* llama_get_embeddings(llama_context* ctx) {
  return outputs_of(__func__, ctx, [](LlamaContext& context) { return context.embeddings(); });
}

float* llama_get_embeddings_ith(llama_context* ctx, int32_t i) {
  return outputs_of(__func__, ctx, [&](LlamaContext& context) { return context.embeddings_of(i); });
}

float* llama_get_embeddings_seq(llama_context* ctx, llama_seq_id seq_id) {
  return outputs_of(__func__, ctx, [&](LlamaContext& context) { return context.pooled_of(seq_id); });
}
