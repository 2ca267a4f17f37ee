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
#include "engine/draft_length.h"
#include "engine/session.h"
#include "engine/work.h"
#include "grammar/token_masks.h"
#include "sampling/draft_sampler.h"
#include "sampling/sampler.h"

namespace parlance {

// How tokens may be proposed for several to be verified in one step, where the context has drafters. By the
// exact rule the answer is the same with and without; by the sampling rule answers at a temperature are as
// likely as without, and the same seed gives the same answer as long as drafters and their limits are the
// same.
struct DraftOptions {
  bool is_on = true;
  int64_t most = kMostDrafted;  // at once
  int64_t least = 0;            // fewer are not worth proposing
  DraftRule rule = DraftRule::exact;
  float least_probability = 0;  // that a drafter must give a token
  // Nodes of a tree of tokens, at most, where the drafter knows other choices and that is worth more than a
  // chain; 0: chains only, -1: as many as there may be.
  int64_t tree = -1;
  // As many as there may be in every step, whether that pays or not, in a tree where its size is given; an
  // answer for which nothing was drafted is an error.
  bool is_required = false;
};

// Checks ranges; the error names the option and the range.
Result<void> validate(const DraftOptions& options);

// Thoughts that go on for too long are closed, and the model goes on behind that.
struct ThoughtLimit {
  int64_t n_most = 0;               // tokens of thoughts
  bool is_open = false;             // the prompt has opened them; else they begin with `open`, if at all
  std::optional<Token> open = {};   // the answer's first token where it begins with thoughts
  std::optional<Token> close = {};  // ends them
  std::vector<Token> end = {};      // said where there would be one token too many; `close` is among them
};

struct GenerateOptions {
  SamplingOptions sampling;
  int64_t max_tokens = -1;        // of the answer; -1: as many as the context holds
  std::vector<std::string> stop;  // texts that end the answer and are not part of it
  bool ignore_eos = false;        // go on past the end-of-turn token (for timing)
  // Said in place of what the model would say, as far as they go (for timing a model without sense).
  std::vector<Token> said = {};
  // Over the model's vocabulary (TextModel::token_trie()): the answer is a text of the grammar, drafted or
  // not, and ends where that can only end. Null: none.
  std::shared_ptr<TokenMasks> grammar = {};
  // What comes before this token, and the token itself, is not the grammar's: the end of a model's thoughts.
  std::optional<Token> grammar_begins_after = {};
  std::vector<Token> stop_tokens;  // end the answer too, and are not part of it
  int64_t min_tokens = 0;          // before these none of them, nor the end of the turn, is said
  // With each token how likely it was, and so many of the likeliest in its place.
  std::optional<int> n_top_logprobs;
  // How long the model may think before it answers; none: as long as it likes.
  std::optional<ThoughtLimit> thoughts;
  DraftOptions draft;
  Work work;
};

// Tokens that were proposed for an answer.
struct DraftCounts {
  int64_t n_drafted = 0;
  int64_t n_accepted = 0;  // that the model would have said too
  int64_t n_verified = 0;  // steps in which there were any
  int64_t n_steps = 0;     // all steps of the answer, from its first token on

  int64_t n_rejected() const { return n_drafted - n_accepted; }
};

inline void add(DraftCounts& sum, const DraftCounts& more) {
  sum.n_drafted += more.n_drafted;
  sum.n_accepted += more.n_accepted;
  sum.n_verified += more.n_verified;
  sum.n_steps += more.n_steps;
}

enum class FinishReason {
  stop,     // the model ended its turn, or a stop text came
  length,   // max_tokens
  context,  // the context is full
  cancelled,
};

std::string_view name_of(FinishReason reason);

struct GenerateResult {
  std::string text;
  std::vector<Token> tokens;   // of the answer, without the end-of-turn token
  bool has_end_token = false;  // whether there was one
  FinishReason finish_reason = FinishReason::stop;
  bool is_cut = false;          // it was to follow a grammar, and ends before it is complete
  int64_t n_prompt = 0;         // tokens of the prompt
  int64_t n_prompt_cached = 0;  // of these, tokens whose keys and values were in the cache already
  double queue_ms = 0;          // until the first step
  double prefill_ms = 0;        // until the first token of the answer was known, the queue included
  double decode_ms = 0;         // the rest
  DraftCounts draft;
};

// What became of a draft. Positions count the tokens of the answer, from 0.
struct Verification {
  std::vector<Token>
      accepted;  // drafted tokens that the model would have said too; an end-of-turn token may be the last
  int64_t rejected_from =
      -1;  // drafted tokens [from, to) were not, or came behind the end; -1, -1: there are none
  int64_t rejected_to = -1;
  std::vector<Token>
      corrected;  // what the model says in their place: one token, or none where the answer has ended
};

// How likely a token was: the natural logarithm of its probability by the model's logits alone, before any
// bias, penalty or temperature.
struct TokenLogprob {
  Token token;
  float logprob;
};
struct TokenLogprobs {
  TokenLogprob said;
  std::vector<TokenLogprob> top;  // the likeliest first
};

// What is new of an answer: tokens, and the text that is final with them (whole code points, no beginning of
// a stop text), which may be none.
struct AnswerPiece {
  std::string text;
  std::vector<Token> tokens;
  std::optional<Verification> verification = {};  // in a step with drafted tokens
  std::vector<TokenLogprobs> logprobs = {};       // of each token, where they were asked for
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

  // The same as its cancellation, where it has not begun: it has ended then. False: it has begun, and ends
  // with the step that is being made where its ticket was cancelled.
  bool withdraw();

  bool has_ended() const;  // nothing more will come; there may be pieces that nobody took
  // Once it has ended. What was cancelled has what was said until then. Errors: as of Session::set_prompt();
  // timed_out; of a grammar, unsupported where no token may come, too_complex where finding one takes too
  // long.
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
