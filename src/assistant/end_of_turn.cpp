#include "assistant/end_of_turn.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "assistant/conversation.h"
#include "text/unicode.h"
#include "voice/turn_end.h"

namespace parlance {

namespace {

constexpr int kLooksAt = 20;  // of the likeliest tokens; what is behind them is of no account

constexpr double kUnknown = 0.5;

template <class Takes>
double probability_of(const TokenLogprobs& logprobs, Takes takes) {
  double sum = 0;
  for (const TokenLogprob& token : logprobs.top) {
    if (takes(token.token)) sum += std::exp(static_cast<double>(token.logprob));
  }
  return sum;
}

}  // namespace

Result<std::optional<EndOfTurnPrompt>> end_of_turn_prompt(const TextModel& text, std::vector<Message> before,
                                                          std::string_view words, bool has_thinking) {
  words = strip_white_space(words);
  const std::string_view bare = without_end_marks(words);
  if (bare.empty()) return std::nullopt;
  before.push_back({"user", std::string(bare)});
  PARLANCE_TRY(std::string prompt,
               prompt_text(text, before, {.has_thinking = has_thinking, .awaits_answer = false}));
  const size_t at = prompt.rfind(bare);
  if (at == std::string::npos) return std::nullopt;
  const Tokenizer& tokenizer = text.tokenizer();
  const auto first_of = [&](std::string_view part) -> std::optional<Token> {
    const std::vector<Token> tokens = tokenizer.encode(part, {.parse_special = true});
    return tokens.empty() ? std::nullopt : std::optional(tokens.front());
  };
  const auto mark = first_of(strip_white_space(words.substr(bare.size())));
  const auto turn_end = first_of(std::string_view(prompt).substr(at + bare.size()));
  if (!turn_end) return std::nullopt;
  prompt.resize(at + bare.size());
  return EndOfTurnPrompt{tokens_of_prompt(text, prompt), mark, *turn_end};
}

Result<std::unique_ptr<EndOfTurnRequest>> EndOfTurnRequest::start(std::shared_ptr<Context> context,
                                                                  const EndOfTurnPrompt& prompt,
                                                                  const Work& work, Request::OnNews on_news) {
  GenerateOptions options;
  options.sampling.temperature = 0;
  if (prompt.mark) options.said = {*prompt.mark};
  options.max_tokens = 2;
  options.ignore_eos = true;
  options.n_top_logprobs = kLooksAt;
  options.draft.is_on = false;
  options.work = work;
  std::unique_ptr<EndOfTurnRequest> asked(new EndOfTurnRequest(context, prompt.turn_end));
  PARLANCE_TRY(asked->request_,
               Request::start(std::move(context), prompt.tokens, options, std::move(on_news)));
  return asked;
}

bool EndOfTurnRequest::poll() {
  const bool has_ended = request_->has_ended();  // if so, no piece comes behind those that there are
  while (auto piece = request_->poll()) std::ranges::move(piece->logprobs, std::back_inserter(logprobs_));
  return has_ended;
}

bool EndOfTurnRequest::ends_turn(Token token) const {
  return token == turn_end_ || context_->model().tokenizer().is_end_of_generation(token);
}

bool EndOfTurnRequest::is_mark(Token token) const {
  const std::string_view piece = strip_white_space(context_->model().tokenizer().piece(token));
  return !piece.empty() && without_end_marks(piece).empty();
}

Result<double> EndOfTurnRequest::probability() const {
  PARLANCE_TRY(const GenerateResult result, request_->result());
  if (result.finish_reason == FinishReason::cancelled) {
    return fail(ErrorCode::cancelled, "nobody wants to know any more whether the turn has ended");
  }
  if (logprobs_.size() < 2) {
    return fail(ErrorCode::invalid_argument, "the context is too full to tell whether the turn has ended");
  }
  const auto ends = [&](Token token) { return ends_turn(token); };
  const double behind_words = probability_of(logprobs_[0], ends);
  const double mark =
      probability_of(logprobs_[0], [&](Token token) { return !ends(token) && is_mark(token); });
  // Without a mark of the recogniser's it is the model's own, if that finds a mark likeliest.
  const bool has_mark = is_mark(logprobs_[0].said.token);
  const double behind_mark = has_mark ? probability_of(logprobs_[1], ends) : kUnknown;
  return std::clamp(behind_words + mark * behind_mark, 0.0, 1.0);
}

}  // namespace parlance
