#include "engine/request.h"

#include <chrono>
#include <deque>
#include <mutex>

#include "engine/scheduler.h"
#include "engine/shown_text.h"
#include "engine/task.h"

namespace parlance {

namespace {

using Clock = std::chrono::steady_clock;

// Pieces that may wait to be taken; an answer that is further ahead is held up.
constexpr size_t kMostPieces = 256;

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

std::string_view name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::context:
      return "context";
    case FinishReason::cancelled:
      return "cancelled";
  }
  return "";
}

class Request::Answer final : public Task {
 public:
  // In a sequence (a reference) or one of its own in a context (a pointer).
  template <class Where>
  Answer(Where&& where, const Context& context, std::vector<Token> prompt, const GenerateOptions& options,
         const Work& work, OnNews on_news)
      : Task(std::forward<Where>(where), work),
        tokenizer_(context.model().tokenizer()),
        n_ctx_(context.options().n_ctx),
        options_(options),
        on_news_(std::move(on_news)),
        sampler_(options.sampling),
        shown_(options.stop) {
    prompt_ = std::move(prompt);
    for (const Token token : prompt_) sampler_.accept(token);
    result_.n_prompt = std::ssize(prompt_);
  }

  std::optional<AnswerPiece> poll(bool& was_full) {
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) return std::nullopt;
    was_full = pieces_.size() >= kMostPieces;
    AnswerPiece piece = std::move(pieces_.front());
    pieces_.pop_front();
    return piece;
  }
  bool has_ended() const {
    const std::lock_guard lock(mutex_);
    return has_ended_;
  }
  bool has_news() const {
    const std::lock_guard lock(mutex_);
    return !pieces_.empty() || has_ended_;
  }

  // Once it has ended.
  Result<GenerateResult> result() const {
    if (!outcome_) return tl::unexpected(outcome_.error());
    return result_;
  }

 private:
  void take(std::span<const float> rows, int64_t) override {
    logits_ = rows;  // valid until computed() returns
  }

  bool computed() override {
    if (result_.tokens.empty()) result_.n_prompt_cached = sequence().n_reused();
    if (options_.max_tokens >= 0 && std::ssize(result_.tokens) >= options_.max_tokens) {
      return finish(FinishReason::length);
    }
    const Token token = sampler_.sample(logits_);
    if (first_token_ == start_) first_token_ = Clock::now();
    if (!options_.ignore_eos && tokenizer_.is_end_of_generation(token)) return finish(FinishReason::stop);
    sampler_.accept(token);
    result_.tokens.push_back(token);
    give_out({shown_.push(tokenizer_.piece(token)), {token}});
    if (shown_.has_stopped()) return finish(FinishReason::stop);
    if (sequence().n_tokens() >= n_ctx_) return finish(FinishReason::context);
    // What the last token would be followed by is not asked for.
    if (options_.max_tokens >= 0 && std::ssize(result_.tokens) >= options_.max_tokens) {
      return finish(FinishReason::length);
    }
    const Result<void> appended = sequence().append({&token, 1});
    return appended.has_value();
  }

  bool finish(FinishReason reason) {
    result_.finish_reason = reason;
    return false;
  }

  void end(Result<void> outcome) override {
    if (has_sequence()) sequence().truncate(sequence().n_computed());
    if (!outcome && outcome.error().code == ErrorCode::cancelled) {
      result_.finish_reason = FinishReason::cancelled;
      outcome = {};
    }
    outcome_ = std::move(outcome);
    if (std::string rest = shown_.finish(); !rest.empty()) give_out({std::move(rest), {}});
    const Clock::time_point now = Clock::now();
    if (first_token_ == start_) first_token_ = now;
    result_.prefill_ms = ms_between(start_, first_token_);
    result_.decode_ms = ms_between(first_token_, now);
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
    }
    if (on_news_) on_news_();
  }

  bool is_held_up() const override {
    const std::lock_guard lock(mutex_);
    return pieces_.size() >= kMostPieces;
  }

  void give_out(AnswerPiece piece) {
    result_.text += piece.text;
    {
      const std::lock_guard lock(mutex_);
      pieces_.push_back(std::move(piece));
    }
    if (on_news_) on_news_();
  }

  const Tokenizer& tokenizer_;
  const int64_t n_ctx_;
  const GenerateOptions options_;
  const OnNews on_news_;
  Sampler sampler_;
  ShownText shown_;
  std::span<const float> logits_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point first_token_ = start_;
  GenerateResult result_;
  Result<void> outcome_;

  mutable std::mutex mutex_;
  std::deque<AnswerPiece> pieces_;
  bool has_ended_ = false;
};

Request::Request(std::shared_ptr<Context> context, std::unique_ptr<Answer> answer, CancellationSource end)
    : context_(std::move(context)), end_(std::move(end)), answer_(std::move(answer)) {}

namespace {

// The caller's terms, and an end with the request.
Work ended_by(const CancellationSource& end, const Work& work) {
  return {.cancellation = end.ticket(), .priority = work.priority, .deadline = work.deadline};
}

}  // namespace

Result<std::unique_ptr<Request>> Request::start(Session& session, std::vector<Token> prompt,
                                                const GenerateOptions& options, OnNews on_news) {
  PARLANCE_CHECK(validate(options.sampling));
  PARLANCE_CHECK(check_prompt(session.context(), prompt));
  const bool has_listener = static_cast<bool>(on_news);
  CancellationSource end(options.work.cancellation);
  auto answer = std::make_unique<Answer>(session.sequence(), session.context(), std::move(prompt), options,
                                         ended_by(end, options.work), std::move(on_news));
  return post(session.shared_context(), std::move(answer), std::move(end), has_listener);
}

Result<std::unique_ptr<Request>> Request::start(std::shared_ptr<Context> context, std::vector<Token> prompt,
                                                const GenerateOptions& options, OnNews on_news) {
  PARLANCE_CHECK(validate(options.sampling));
  PARLANCE_CHECK(check_prompt(*context, prompt));
  const bool has_listener = static_cast<bool>(on_news);
  CancellationSource end(options.work.cancellation);
  auto answer = std::make_unique<Answer>(context, *context, std::move(prompt), options,
                                         ended_by(end, options.work), std::move(on_news));
  return post(std::move(context), std::move(answer), std::move(end), has_listener);
}

Result<std::unique_ptr<Request>> Request::post(std::shared_ptr<Context> context,
                                               std::unique_ptr<Answer> answer, CancellationSource end,
                                               bool is_driven_elsewhere) {
  Scheduler& scheduler = context->scheduler();
  PARLANCE_CHECK(scheduler.post(*answer));
  if (is_driven_elsewhere) scheduler.start();
  return std::unique_ptr<Request>(new Request(std::move(context), std::move(answer), std::move(end)));
}

Request::~Request() {
  end_.cancel();
  context_->scheduler().wake();
  context_->scheduler().wait([&] { return answer_->is_done(); });
}

std::optional<AnswerPiece> Request::poll() {
  bool was_full = false;
  auto piece = answer_->poll(was_full);
  if (was_full) context_->scheduler().wake();
  return piece;
}

std::optional<AnswerPiece> Request::next() {
  context_->scheduler().wait([&] { return answer_->has_news(); });
  return poll();
}

bool Request::has_ended() const {
  return answer_->has_ended();
}

Result<GenerateResult> Request::result() const {
  return answer_->result();
}

}  // namespace parlance
