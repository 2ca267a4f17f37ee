#include "engine/request.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>

#include "base/parameter.h"
#include "engine/answer_grammar.h"
#include "engine/elapsed.h"
#include "engine/scheduler.h"
#include "engine/shown_text.h"
#include "engine/steady_draft_length.h"
#include "engine/task.h"

namespace parlance {

namespace {

using Clock = std::chrono::steady_clock;

// Pieces that may wait to be taken; an answer that is further ahead is held up.
constexpr size_t kMostPieces = 256;

// Of one token and the n likeliest.
TokenLogprobs logprobs_of(std::span<const float> logits, Token said, int n) {
  const float highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - highest);
  const double log_sum = highest + std::log(sum);
  const auto entry = [&](Token token) {
    return TokenLogprob{token, static_cast<float>(logits[static_cast<size_t>(token)] - log_sum)};
  };
  std::vector<Token> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + std::min<std::ptrdiff_t>(n, std::ssize(order));
  std::partial_sort(order.begin(), end, order.end(), [&](Token a, Token b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  TokenLogprobs result{.said = entry(said), .top = {}};
  for (auto token = order.begin(); token != end; ++token) result.top.push_back(entry(*token));
  return result;
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

Result<void> validate(const DraftOptions& options) {
  if (options.most < 0 || options.most > kMostDrafted) {
    return fail(ErrorCode::invalid_argument, "{} must lie in [0, {}], got {}", Parameter::draft_max,
                kMostDrafted, options.most);
  }
  if (options.least < 0 || options.least > options.most) {
    return fail(ErrorCode::invalid_argument, "{} must lie in [0, {}], got {}", Parameter::draft_min,
                options.most, options.least);
  }
  if (options.tree < -1 || options.tree > kMostTreeNodes) {
    return fail(ErrorCode::invalid_argument, "{} must lie in [0, {}], got {}", Parameter::draft_tree,
                kMostTreeNodes, options.tree);
  }
  if (!(options.least_probability >= 0 && options.least_probability <= 1)) {
    return fail(ErrorCode::invalid_argument, "{} must lie in [0, 1], got {}", Parameter::draft_p_min,
                options.least_probability);
  }
  return {};
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
        draft_sampler_(options.sampling, options.draft.rule),
        shown_(options.stop) {
    if (options.grammar) {
      grammar_.emplace(*options.grammar, options.grammar_begins_after);
      draft_sampler_.set_mask(&*grammar_);
    }
    does_with_tokens_ = takes_most_likely(options.sampling) && !grammar_ && !options.n_top_logprobs &&
                        options.min_tokens == 0;
    does_with_top_ = !options.n_top_logprobs && may_do_with_top(options.sampling, kMostTopLogits);
    prompt_ = std::move(prompt);
    for (const Token token : prompt_) accept(token);
    result_.n_prompt = std::ssize(prompt_);
  }

  // The logits behind the prompt, or none.
  void knows(std::vector<float> logits) { known_outputs_ = std::move(logits); }

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
  void accept(Token token) {
    sampler_.accept(token);
    draft_sampler_.accept(token);
  }

  bool wants_drafts() const override { return options_.draft.is_on && options_.draft.most > 0; }

  DraftWish draft_wish() override {
    const DraftOptions& draft = options_.draft;
    if (!draft.is_on || draft_.n_tokens() > 0) return {};  // or one is half verified
    const int64_t n_said = std::ssize(result_.tokens);
    const int64_t n_left = options_.max_tokens < 0 ? INT64_MAX : options_.max_tokens - n_said - 1;
    int64_t most = std::min(draft.most, n_left);
    draft_sampler_.begin(n_said);
    if (!draft_sampler_.draws()) {
      return {.most = most,
              .least = draft.least,
              .least_probability = draft.least_probability,
              .is_required = draft.is_required,
              .is_endless = options_.ignore_eos,
              .n_tree = draft.tree < 0 ? kMostTreeNodes : draft.tree,
              .is_tree_required = draft.is_required && draft.tree > 0,
              .sampler = &draft_sampler_};
    }
    if (!draft.is_required) most = std::min(most, steady_length_.next(draft.most));
    if (most < draft.least) return {};
    // A draft that turns out short counts: to leave it out would change what is said.
    return {.most = most,
            .least = 0,
            .least_probability = draft.least_probability,
            .is_required = true,
            .is_endless = options_.ignore_eos,
            .sampler = &draft_sampler_,
            .least_reach = draft.is_required ? 0 : SteadyDraftLength::kLeastReach};
  }

  void take_draft(Draft draft, std::vector<DraftBranch> branches, DraftRecord& record) override {
    if (grammar_) grammar_->cut(draft, tokenizer_);
    if (draft.n_tokens() == 0 || !sequence().append_draft(draft.tokens)) return;
    sequence().append_branches(std::move(branches));
    draft_ = std::move(draft);
    draft_record_ = &record;
    n_outputs_ = 1 + draft_.n_tokens();
  }

  std::optional<TokenDraw> next_draw() const override {
    const int64_t n_said = std::ssize(result_.tokens);
    const bool is_free = n_said >= std::ssize(options_.said) && !is_ending_thoughts() && !grammar_ &&
                         n_said >= options_.min_tokens && !options_.n_top_logprobs;
    const bool is_last = options_.max_tokens >= 0 && n_said + 1 >= options_.max_tokens;
    if (!is_free || is_last || !draws_from_top(options_.sampling, kMostTopLogits)) return std::nullopt;
    return sampler_.next_draw();
  }

  // Rows of the last token and of those that were drafted behind it, in order, then of branches; logits are
  // valid until this returns.
  void take(std::span<const float> rows, int64_t n_rows) override {
    const size_t n_logits = rows.size() / static_cast<size_t>(n_rows);
    take_rows(n_rows, [&](int64_t i) {
      const std::span<const float> row = rows.subspan(static_cast<size_t>(i) * n_logits, n_logits);
      const Result<Token> token = next_token(row);
      token ? say(instead_of(*token), row) : give_up(token.error());
    });
  }

  Result<void> take_top(TopRows& rows) override {
    Result<void> taken;
    take_rows(rows.size(), [&](int64_t i) {
      const Result<std::optional<Token>> told = next_token(rows.top(i));
      if (!told) return give_up(told.error());
      if (*told) return say(instead_of(**told), {});
      const Result<std::span<const float>> row = rows.logits(i);
      if (!row) {
        taken = tl::unexpected(row.error());
        is_decided_ = true;
        return;
      }
      const Result<Token> token = next_token(*row);
      token ? say(instead_of(*token), *row) : give_up(token.error());
    });
    return taken;
  }

  void take_tokens(std::span<const Token> tokens) override {
    take_rows(std::ssize(tokens), [&](int64_t i) { say(instead_of(tokens[static_cast<size_t>(i)]), {}); });
  }

  // Those that are wanted. Of a draft without branches they come in order, in as many calls as it takes; of a
  // tree all in one.
  template <class Take>
  void take_rows(int64_t n_rows, const Take& take_row) {
    if (!sequence().branches().empty()) {
      while (!is_decided_) take_row(row_of_taken());
      return;
    }
    for (int64_t i = 0; i < n_rows; ++i) {
      if (is_next_row_wanted()) take_row(i);
    }
  }

  // Of the last token that was taken of the draft; 0: of the one before it.
  int64_t row_of_taken() const {
    if (branch_ < 0) return n_accepted_;
    int64_t row = 1 + draft_.n_tokens();
    const auto branches = sequence().branches();
    for (int64_t i = 0; i < branch_; ++i) row += std::ssize(branches[static_cast<size_t>(i)].way.tokens);
    return row + n_accepted_ - 1 - branches[static_cast<size_t>(branch_)].way.place;
  }

  // The branch (-1: the draft itself) that has the token behind those that were taken; none: it was not
  // drafted.
  std::optional<int64_t> branch_with(Token token) const {
    const auto branches = sequence().branches();
    const auto has = [&](std::span<const Token> tokens, int64_t first) {
      const int64_t i = n_accepted_ - first;
      return i < std::ssize(tokens) && tokens[static_cast<size_t>(i)] == token;
    };
    const auto way_of = [&](int64_t branch) -> const DraftBranch& {
      return branches[static_cast<size_t>(branch)].way;
    };
    if (branch_ < 0 ? has(draft_.tokens, 0) : has(way_of(branch_).tokens, way_of(branch_).place))
      return branch_;
    for (int64_t i = 0; i < std::ssize(branches); ++i) {
      const DraftBranch& way = way_of(i);
      if (way.parent == branch_ && way.place == n_accepted_ && way.tokens.front() == token) return i;
    }
    return std::nullopt;
  }

  // Tokens of the draft's longest way.
  int64_t longest_way() const {
    int64_t longest = draft_.n_tokens();
    for (const Sequence::Branch& branch : sequence().branches())
      longest = std::max(longest, branch.way.end());
    return longest;
  }

  bool is_next_row_wanted() {
    if (n_taken_again_ > 0) {
      --n_taken_again_;
      return false;
    }
    if (!is_decided_) ++n_taken_;
    return !is_decided_;
  }

  // What is said where the model would say `token`.
  Token instead_of(Token token) const {
    const size_t n_said = result_.tokens.size();
    if (n_said < options_.said.size()) return options_.said[n_said];
    return is_ending_thoughts() ? options_.thoughts->end[n_end_of_thoughts_] : token;
  }

  bool is_ending_thoughts() const {
    if (!options_.thoughts || n_end_of_thoughts_ == options_.thoughts->end.size()) return false;
    return n_end_of_thoughts_ > 0 || (is_thinking_ && n_thoughts_ >= options_.thoughts->n_most);
  }

  // The answer has gone on by a token.
  void note_thoughts(Token token) {
    if (!options_.thoughts) return;
    if (is_ending_thoughts()) {
      ++n_end_of_thoughts_;
    } else if (is_thinking_) {
      ++n_thoughts_;
    }
    if (token == options_.thoughts->close) {
      is_thinking_ = false;
    } else if (token == options_.thoughts->open && result_.tokens.empty()) {
      is_thinking_ = true;
    }
  }

  bool ends(Token token) const {
    const bool may_end_early = !options_.ignore_eos || (grammar_ && grammar_->has_begun());
    return (may_end_early && tokenizer_.is_end_of_generation(token)) ||
           std::find(options_.stop_tokens.begin(), options_.stop_tokens.end(), token) !=
               options_.stop_tokens.end();
  }

  // The logits without the tokens that would end an answer that may not end yet.
  std::span<const float> without_ends(std::span<const float> logits) {
    unended_.assign(logits.begin(), logits.end());
    for (const auto* tokens : {&tokenizer_.end_of_generation(), &options_.stop_tokens}) {
      for (const Token token : *tokens) {
        if (token >= 0 && token < std::ssize(unended_)) unended_[static_cast<size_t>(token)] = -INFINITY;
      }
    }
    return unended_;
  }

  // Of all logits, or of the highest.
  auto sample(const auto& logits) {
    const bool is_drawn = draft_sampler_.draws() && n_accepted_ < draft_.n_tokens();
    return is_drawn ? sampler_.sample(logits, draft_.proposal(n_accepted_)) : sampler_.sample(logits);
  }

  // What the model says behind those that it has taken of the draft. Errors: the grammar's.
  Result<Token> next_token(std::span<const float> logits) {
    if (grammar_) {
      PARLANCE_TRY(logits, grammar_->masked(logits));
    } else if (std::ssize(result_.tokens) < options_.min_tokens) {
      logits = without_ends(logits);
    }
    const Token token = sample(logits);
    if (grammar_ && !(logits[static_cast<size_t>(token)] > -std::numeric_limits<float>::infinity())) {
      return fail(ErrorCode::unsupported,
                  "what {} forbids is all that the answer's grammar allows here; forbid fewer tokens",
                  Parameter::logit_bias);
    }
    return token;
  }

  // The same by the highest logits alone; none where they cannot tell.
  Result<std::optional<Token>> next_token(TopLogits top) {
    if (grammar_) {
      PARLANCE_TRY(top, grammar_->masked(top));
    } else if (std::ssize(result_.tokens) < options_.min_tokens) {
      top = unended_top_.of(top, [&](Token token) {
        return !tokenizer_.is_end_of_generation(token) &&
               std::ranges::find(options_.stop_tokens, token) == options_.stop_tokens.end();
      });
    }
    if (top.tokens.empty()) return std::optional<Token>();
    const std::optional<Token> token = sample(top);
    if (!token) return token;
    const bool is_allowed = !grammar_ || std::ranges::find(top.tokens, *token) != top.tokens.end();
    return is_allowed ? token : std::nullopt;
  }

  // The answer cannot go on.
  void give_up(Error error) {
    failure_ = tl::unexpected(std::move(error));
    is_decided_ = has_finished_ = true;
  }

  void begun() override { result_.queue_ms = ms_between(start_, Clock::now()); }
  void begin_again() override { n_taken_again_ = n_taken_; }

  // `logits` are those of its row.
  void say(Token token, std::span<const float> logits) {
    if (options_.max_tokens == 0) return finish(FinishReason::length);
    if (first_token_ == start_) first_token_ = Clock::now();
    const std::optional<int64_t> branch = branch_with(token);
    const bool is_drafted = branch.has_value();
    if (is_drafted) {
      branch_ = *branch;
      ++n_accepted_;
      if (branch_ < 0) ++n_accepted_of_trunk_;
    } else if (n_accepted_ < longest_way()) {
      correction_ = token;
    }
    heard_.push_back(token);
    if (ends(token)) {
      ++n_kept_;  // of what it follows, all stays
      result_.has_end_token = true;
      return finish(FinishReason::stop);
    }
    accept(token);
    if (grammar_) grammar_->accept(token);
    note_thoughts(token);
    result_.tokens.push_back(token);
    said_.tokens.push_back(token);
    if (options_.n_top_logprobs)
      said_.logprobs.push_back(logprobs_of(logits, token, *options_.n_top_logprobs));
    said_.text += shown_.push(tokenizer_.piece(token));
    ++n_kept_;
    if (shown_.has_stopped() || (grammar_ && grammar_->must_end())) return finish(FinishReason::stop);
    if (n_before_draft() + n_kept_ - 1 >= n_ctx_) return finish(FinishReason::context);
    // What the last token would be followed by is not asked for.
    if (options_.max_tokens >= 0 && std::ssize(result_.tokens) >= options_.max_tokens)
      return finish(FinishReason::length);
    is_decided_ = !is_drafted;
  }

  void finish(FinishReason reason) {
    result_.finish_reason = reason;
    is_decided_ = has_finished_ = true;
  }

  // Tokens of the sequence without the draft.
  int64_t n_before_draft() const { return sequence().n_tokens() - draft_.n_tokens(); }

  bool computed() override {
    if (result_.tokens.size() == said_.tokens.size()) result_.n_prompt_cached = sequence().n_reused();
    ++result_.draft.n_steps;
    // The sequence keeps what the last token follows, which is appended, or is the last one of the answer.
    const int64_t n_end = n_before_draft() + n_kept_ - 1;
    if (draft_.n_tokens() > 0) {
      note_verification();
      if (branch_ >= 0) sequence().take_branch(branch_);
      sequence().truncate(n_end);
    }
    const Token last = said_.tokens.empty() ? 0 : said_.tokens.back();
    if (!said_.tokens.empty() || said_.verification) give_out(std::move(said_));
    said_ = {};
    draft_ = {};
    n_outputs_ = 1;
    n_accepted_ = n_accepted_of_trunk_ = n_kept_ = n_taken_ = n_taken_again_ = 0;
    branch_ = -1;
    heard_.clear();
    is_decided_ = false;
    correction_.reset();
    return !has_finished_ && sequence().append({&last, 1}).has_value();
  }

  void note_verification() {
    Verification& v = said_.verification.emplace();
    v.accepted.assign(heard_.begin(), heard_.begin() + n_accepted_);
    if (n_accepted_ < longest_way()) {
      const int64_t n_said_before = std::ssize(result_.tokens) - std::ssize(said_.tokens);
      v.rejected_from = n_said_before + n_accepted_;
      v.rejected_to = n_said_before + longest_way();
      if (correction_) v.corrected = {*correction_};
    }
    result_.draft.n_drafted += draft_.n_tokens() + sequence().n_branch_tokens();
    result_.draft.n_accepted += n_accepted_;
    ++result_.draft.n_verified;
    draft_record_->note(draft_.n_tokens(), n_accepted_of_trunk_, n_accepted_ - n_accepted_of_trunk_);
    draft_record_->learn_others(heard_);
    steady_length_.note(n_accepted_);
  }

  void end(Result<void> outcome) override {
    if (has_sequence()) {
      // In the middle of a verification: what has been taken of the draft stays.
      if (draft_.n_tokens() > 0) sequence().truncate(n_before_draft() + std::max<int64_t>(n_kept_ - 1, 0));
      sequence().truncate(sequence().n_computed());
    }
    if (!said_.tokens.empty()) give_out(std::move(said_));
    if (outcome) outcome = failure_;
    result_.is_cut = grammar_ && (!grammar_->is_complete() || shown_.has_stopped());
    if (!outcome && outcome.error().code == ErrorCode::cancelled) {
      result_.finish_reason = FinishReason::cancelled;
      outcome = {};
    }
    if (outcome && options_.draft.is_required && result_.draft.n_drafted == 0 &&
        result_.finish_reason != FinishReason::cancelled) {
      outcome = fail(
          ErrorCode::unsupported,
          "drafting is required, and nothing was drafted for the answer; choose another {}, or allow more {}",
          Parameter::draft, Parameter::max_tokens);
    }
    outcome_ = std::move(outcome);
    if (std::string rest = shown_.finish(); !rest.empty()) give_out({.text = std::move(rest), .tokens = {}});
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
  DraftSampler draft_sampler_;
  SteadyDraftLength steady_length_;
  ShownText shown_;
  std::optional<AnswerGrammar> grammar_;
  Result<void> failure_;  // of it

  bool is_thinking_ = options_.thoughts && options_.thoughts->is_open;
  int64_t n_thoughts_ = 0;        // tokens
  size_t n_end_of_thoughts_ = 0;  // of the tokens that end them

  // Of the step that is being taken.
  Draft draft_;  // behind the sequence's last token
  DraftRecord* draft_record_ = nullptr;
  AnswerPiece said_;                 // by the model
  int64_t n_accepted_ = 0;           // of the draft
  int64_t n_accepted_of_trunk_ = 0;  // of these, those that are not in branches
  int64_t branch_ = -1;              // that the last of these is in; -1: in none
  std::vector<Token> heard_;         // from the model, in this step; an end is one of them
  std::optional<Token> correction_;  // said in place of a drafted one
  int64_t n_kept_ = 0;               // tokens that the model has said
  int64_t n_taken_ = 0;              // rows
  int64_t n_taken_again_ = 0;        // rows that come a second time, since memory was needed elsewhere
  bool is_decided_ = false;          // further rows are of no use
  bool has_finished_ = false;

  std::vector<float> unended_;  // logits, while the answer may not end
  TopLeft unended_top_;

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
  return {.cancellation = end.ticket(),
          .priority = work.priority,
          .deadline = work.deadline,
          .sharing = work.sharing};
}

}  // namespace

Result<std::unique_ptr<Request>> Request::start(Session& session, std::vector<Token> prompt,
                                                const GenerateOptions& options, OnNews on_news) {
  PARLANCE_CHECK(validate(options.sampling));
  PARLANCE_CHECK(validate(options.draft));
  PARLANCE_CHECK(check_prompt(session.context(), prompt));
  const bool has_listener = static_cast<bool>(on_news);
  CancellationSource end(options.work.cancellation);
  std::vector<float> known = session.take_logits(prompt);
  auto answer = std::make_unique<Answer>(session.sequence(), session.context(), std::move(prompt), options,
                                         ended_by(end, options.work), std::move(on_news));
  answer->knows(std::move(known));
  return post(session.shared_context(), std::move(answer), std::move(end), has_listener);
}

Result<std::unique_ptr<Request>> Request::start(std::shared_ptr<Context> context, std::vector<Token> prompt,
                                                const GenerateOptions& options, OnNews on_news) {
  PARLANCE_CHECK(validate(options.sampling));
  PARLANCE_CHECK(validate(options.draft));
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

bool Request::withdraw() {
  return context_->scheduler().withdraw(*answer_);
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
