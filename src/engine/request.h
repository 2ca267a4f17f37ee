// An answer that is being written: the scheduler takes step after step for it, beside others, and whoever
// asked takes pieces of text as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/session.h"
#include "engine/work.h"
#include "sampling/sampler.h"

namespace parlance {

struct GenerateOptions {
  SamplingOptions sampling;
  int64_t max_tokens = -1;        // of the answer; -1: as many as the context holds
  std::vector<std::string> stop;  // texts that end the answer and are not part of it
  bool ignore_eos = false;        // go on past the end-of-turn token (for timing)
  Work work;
};

enum class FinishReason {
  stop,     // the model ended its turn, or a stop text came
  length,   // max_tokens
  context,  // the context is full
  cancelled,
};

std::string_view name_of(FinishReason reason);

struct GenerateResult {
  std::string text;
  std::vector<Token> tokens;  // of the answer, without the end-of-turn token
  FinishReason finish_reason = FinishReason::stop;
  int64_t n_prompt = 0;         // tokens of the prompt
  int64_t n_prompt_cached = 0;  // of these, tokens whose keys and values were in the cache already
  double prefill_ms = 0;        // until the first token of the answer was known
  double decode_ms = 0;         // the rest
};

// What is new of an answer: tokens, and the text that is final with them (whole code points, no beginning of
// a stop text), which may be none.
struct AnswerPiece {
  std::string text;
  std::vector<Token> tokens;
};

class Request {
 public:
  // Called on the thread that computes when there is something new to take, or the answer has ended. Must not
  // wait for anything.
  using OnNews = std::function<void()>;

  // Answers `prompt` in a session, which is the request's until that ends; its tokens then are those that
  // were computed. With `on_news` a thread of the scheduler computes, else whoever waits in next(). Errors,
  // beside those of Session::set_prompt(): options out of range.
  static Result<std::unique_ptr<Request>> start(Session& session, std::vector<Token> prompt,
                                                const GenerateOptions& options, OnNews on_news = {});
  // The same in a sequence of its own, as soon as the context has room for one more.
  static Result<std::unique_ptr<Request>> start(std::shared_ptr<Context> context, std::vector<Token> prompt,
                                                const GenerateOptions& options, OnNews on_news = {});
  // Cancels what is still being computed.
  ~Request();

  // The next piece; waits for it. None when the answer has ended and all of it was taken.
  std::optional<AnswerPiece> next();
  // The same without waiting: none when there is nothing new.
  std::optional<AnswerPiece> poll();

  bool has_ended() const;  // nothing more will come; there may be pieces that nobody took
  // Once it has ended. What was cancelled has what was said until then. Errors: as of Session::set_prompt(),
  // and timed_out.
  Result<GenerateResult> result() const;

 private:
  class Answer;
  Request(std::shared_ptr<Context> context, std::unique_ptr<Answer> answer, CancellationSource end);
  static Result<std::unique_ptr<Request>> post(std::shared_ptr<Context> context,
                                               std::unique_ptr<Answer> answer, CancellationSource end,
                                               bool is_driven_elsewhere);

  std::shared_ptr<Context> context_;
  CancellationSource end_;
  std::unique_ptr<Answer> answer_;
};

}  // namespace parlance
