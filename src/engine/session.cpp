#include "engine/session.h"

#include <algorithm>
#include <utility>

#include "engine/embedding_request.h"
#include "engine/scheduler.h"
#include "engine/sequence_file.h"
#include "engine/task.h"
#include "models/pooling.h"

namespace parlance {

namespace {

// All outputs that are wanted of a sequence's last tokens.
class OutputsTask final : public Task {
 public:
  OutputsTask(Sequence& sequence, const Work& work, std::vector<Token> prompt, int64_t n_outputs,
              bool wants_logits, std::vector<float>& outputs)
      : Task(sequence, work), outputs_(outputs) {
    prompt_ = std::move(prompt);
    n_outputs_ = n_outputs;
    wants_logits_ = wants_logits;
    outputs_.clear();
  }

  const Result<void>& outcome() const { return outcome_; }

 private:
  void take(std::span<const float> rows, int64_t) override {
    outputs_.insert(outputs_.end(), rows.begin(), rows.end());
  }
  bool computed() override { return false; }
  void begin_again() override { outputs_.clear(); }
  void end(Result<void> outcome) override { outcome_ = std::move(outcome); }

  std::vector<float>& outputs_;
  Result<void> outcome_;
};

// Of a sequence's last tokens, what each is most likely followed by.
class LikeliestTask final : public Task {
 public:
  LikeliestTask(Sequence& sequence, const Work& work, int64_t n_outputs, int64_t n_beside,
                std::vector<Token>& likeliest)
      : Task(sequence, work), likeliest_(likeliest) {
    n_outputs_ = n_outputs;
    n_beside_ = n_beside;
    does_with_tokens_ = true;
    likeliest_.clear();
  }

  const Result<void>& outcome() const { return outcome_; }

 private:
  void take(std::span<const float> rows, int64_t n_rows) override {
    const auto n_logits = std::ssize(rows) / n_rows;
    for (auto row = rows.begin(); row != rows.end(); row += n_logits)
      likeliest_.push_back(static_cast<Token>(std::max_element(row, row + n_logits) - row));
  }
  void take_tokens(std::span<const Token> tokens) override {
    likeliest_.insert(likeliest_.end(), tokens.begin(), tokens.end());
  }
  bool computed() override { return false; }
  void begin_again() override { likeliest_.clear(); }
  void end(Result<void> outcome) override { outcome_ = std::move(outcome); }

  std::vector<Token>& likeliest_;
  Result<void> outcome_;
};

}  // namespace

Result<std::unique_ptr<Session>> Session::create(const TextModel& model, const SessionOptions& options) {
  PARLANCE_TRY(auto context, Context::create(model, options));
  return create(std::move(context));
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<Context> context) {
  PARLANCE_TRY(auto sequence, Sequence::open(context));
  return std::unique_ptr<Session>(new Session(std::move(context), std::move(sequence)));
}

Result<std::unique_ptr<Session>> Session::fork() const {
  if (sequence_->wants_states()) {  // or the twin would have to compute them again
    const Scheduler::Pause pause(context_->scheduler());
    PARLANCE_TRY(StateCopy states, pause.runner().save_states(*sequence_));
    sequence_->add_snapshot(std::move(states));
  }
  PARLANCE_TRY(auto twin, sequence_->fork());
  return std::unique_ptr<Session>(new Session(context_, std::move(twin)));
}

// Computes what the sequence lacks, after a prompt was put in place of its tokens if there is one.
Result<std::span<const float>> Session::compute(std::vector<Token> prompt, int64_t n_outputs,
                                                bool wants_logits, const Work& work) {
  n_behind_ = 0;
  OutputsTask task(*sequence_, work, std::move(prompt), n_outputs, wants_logits, outputs_);
  PARLANCE_CHECK(run(task));
  PARLANCE_CHECK(task.outcome());
  if (wants_logits && n_outputs == 1) n_behind_ = sequence_->n_tokens();
  return std::span<const float>(outputs_);
}

Result<void> Session::run(Task& task) {
  Scheduler& scheduler = context_->scheduler();
  PARLANCE_CHECK(scheduler.post(task));
  scheduler.wait([&] { return task.is_done(); });
  return {};
}

Result<std::span<const float>> Session::set_prompt(std::span<const Token> prompt, const Work& work) {
  PARLANCE_CHECK(check_prompt(*context_, prompt));
  auto logits = compute({prompt.begin(), prompt.end()}, 1, /*wants_logits=*/true, work);
  if (!logits) sequence_->truncate(sequence_->n_reused());
  return logits;
}

std::vector<float> Session::take_logits(std::span<const Token> prompt) {
  const bool is_of_prompt = n_behind_ > 0 && n_behind_ == sequence_->n_computed() &&
                            std::ranges::equal(prompt, sequence_->tokens());
  n_behind_ = 0;
  return is_of_prompt ? std::exchange(outputs_, {}) : std::vector<float>();
}

Result<void> Session::check_outputs(int64_t n_tokens, int64_t n_outputs) const {
  if (n_outputs >= 1 && n_outputs <= std::min(context_->options().n_outputs, n_tokens)) return {};
  return fail(ErrorCode::invalid_argument,
              "the logits of {} of {} tokens are wanted, the context was made for up to {}", n_outputs,
              n_tokens, context_->options().n_outputs);
}

Result<std::span<const Token>> Session::append_for_likeliest(std::span<const Token> tokens, int64_t n_outputs,
                                                             const Embeddings& embeddings, const Work& work) {
  PARLANCE_CHECK(check_outputs(std::ssize(tokens), n_outputs));
  const int64_t n_before = sequence_->n_tokens();
  PARLANCE_CHECK(sequence_->append(tokens, embeddings));
  return likeliest_behind(n_before, n_outputs, 0, work);
}

Result<std::span<const Token>> Session::append_with_draft(std::span<const Token> tokens,
                                                          std::span<const Token> draft,
                                                          const Embeddings& embeddings, const Work& work) {
  if (std::ssize(draft) > most_beside_prompt()) {
    return fail(ErrorCode::invalid_argument,
                "a draft of {} tokens beside a prompt, the context verifies up to {} there", draft.size(),
                most_beside_prompt());
  }
  const int64_t n_before = sequence_->n_tokens();
  PARLANCE_CHECK(sequence_->append(tokens, embeddings));
  if (!draft.empty()) {
    if (const Result<void> appended = sequence_->append(draft); !appended) {
      sequence_->truncate(n_before);
      return tl::unexpected(appended.error());
    }
  }
  return likeliest_behind(n_before, std::ssize(draft) + 1, std::ssize(draft), work);
}

// Computes what was appended behind n_before tokens, or takes it back.
Result<std::span<const Token>> Session::likeliest_behind(int64_t n_before, int64_t n_outputs,
                                                         int64_t n_beside, const Work& work) {
  n_behind_ = 0;
  LikeliestTask task(*sequence_, work, n_outputs, n_beside, likeliest_);
  Result<void> done = run(task);
  if (done) done = task.outcome();
  if (!done) {
    sequence_->truncate(n_before);
    return tl::unexpected(done.error());
  }
  return std::span<const Token>(likeliest_);
}

Result<std::span<const float>> Session::append(std::span<const Token> tokens, int64_t n_outputs,
                                               const Embeddings& embeddings, const Work& work) {
  PARLANCE_CHECK(check_outputs(std::ssize(tokens), n_outputs));
  const int64_t n_before = sequence_->n_tokens();
  PARLANCE_CHECK(sequence_->append(tokens, embeddings));
  auto logits = compute({}, n_outputs, /*wants_logits=*/true, work);
  if (!logits) sequence_->truncate(n_before);
  return logits;
}

Result<std::vector<float>> Session::embed(std::span<const Token> prompt, std::optional<Pooling> wanted,
                                          const Work& work) {
  PARLANCE_CHECK(check_prompt(*context_, prompt));
  PARLANCE_CHECK(check_embeds(model()));
  const Pooling pooling = wanted.value_or(model().hyper_parameters().pooling);
  const int64_t n_tokens = std::ssize(prompt), n_rows = n_pooled_rows(pooling, n_tokens);
  if (n_rows > context_->options().n_outputs) {
    return fail(ErrorCode::invalid_argument,
                "the text has {} tokens, the context was made for the outputs of {}; shorten it", n_tokens,
                context_->options().n_outputs);
  }
  std::vector<Token> text(prompt.begin(), prompt.end());
  if (n_rows > 1) {  // every token's row is wanted, so all are computed, whatever the context knows
    sequence_->truncate(0);
    PARLANCE_CHECK(sequence_->append(text));
    text.clear();
  }
  const auto rows = compute(std::move(text), n_rows, /*wants_logits=*/false, work);
  if (!rows) {
    sequence_->truncate(n_rows > 1 ? 0 : sequence_->n_reused());
    return tl::unexpected<Error>(rows.error());
  }
  return pooled(pooling, *rows, model().hyper_parameters().n_embd);
}

Result<void> Session::save(const std::filesystem::path& path) {
  const Scheduler::Pause pause(context_->scheduler());
  return save_sequence(*sequence_, pause.runner(), path);
}

Result<void> Session::restore(const std::filesystem::path& path, const std::optional<PrefixKey>& text) {
  const Scheduler::Pause pause(context_->scheduler());
  n_behind_ = 0;
  return restore_sequence(*sequence_, path, text);
}

}  // namespace parlance
