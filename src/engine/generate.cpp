#include "engine/generate.h"

#include <algorithm>
#include <chrono>

#include "sampling/stop_matcher.h"

namespace parlance {

namespace {

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// From pieces of tokens to text that may be shown: whole code points that begin no stop text.
class TextOut {
 public:
  TextOut(const std::vector<std::string>& stop, std::string& text, const OnText& on_text)
      : stop_(stop), text_(text), on_text_(on_text) {}

  // False when a stop text came.
  bool push(std::string_view piece) {
    emit(stop_.push(decoder_.push(piece)));
    return !stop_.matched();
  }

  void finish() {
    if (!stop_.matched()) emit(stop_.push(decoder_.finish()));
    emit(stop_.finish());
  }

 private:
  void emit(const std::string& text) {
    if (text.empty()) return;
    text_ += text;
    if (on_text_) on_text_(text);
  }

  StreamingDecoder decoder_;
  StopMatcher stop_;
  std::string& text_;
  const OnText& on_text_;
};

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

Result<GenerateResult> generate(Session& session, std::span<const Token> prompt,
                                const GenerateOptions& options, const OnText& on_text) {
  PARLANCE_CHECK(validate(options.sampling));
  session.begin_request();
  const Tokenizer& tokenizer = session.model().tokenizer();
  Sampler sampler(options.sampling);
  for (const Token token : prompt) sampler.accept(token);

  GenerateResult result;
  result.n_prompt = static_cast<int64_t>(prompt.size());
  TextOut out(options.stop, result.text, on_text);

  const Clock::time_point start = Clock::now();
  Clock::time_point first_token = start;
  Result<std::span<const float>> logits = session.set_prompt(prompt);
  if (!logits && logits.error().code != ErrorCode::cancelled) return tl::unexpected(logits.error());
  result.n_prompt_cached = session.n_reused();

  result.finish_reason = FinishReason::cancelled;
  while (logits) {
    if (options.max_tokens >= 0 && static_cast<int64_t>(result.tokens.size()) >= options.max_tokens) {
      result.finish_reason = FinishReason::length;
      break;
    }
    const Token token = sampler.sample(*logits);
    if (first_token == start) first_token = Clock::now();
    if (!options.ignore_eos && tokenizer.is_end_of_generation(token)) {
      result.finish_reason = FinishReason::stop;
      break;
    }
    sampler.accept(token);
    result.tokens.push_back(token);
    if (!out.push(tokenizer.piece(token))) {
      result.finish_reason = FinishReason::stop;
      break;
    }
    if (static_cast<int64_t>(session.tokens().size()) >= session.n_ctx()) {
      result.finish_reason = FinishReason::context;
      break;
    }
    logits = session.append({&token, 1});
    if (!logits && logits.error().code != ErrorCode::cancelled) return tl::unexpected(logits.error());
  }
  out.finish();

  const Clock::time_point end = Clock::now();
  if (first_token == start) first_token = end;
  result.prefill_ms = ms_between(start, first_token);
  result.decode_ms = ms_between(first_token, end);
  return result;
}

}  // namespace parlance
