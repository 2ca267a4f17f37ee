// Whether somebody who pauses has finished: how likely it is, by a language model, that a turn ends with the
// words so far.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/prompt.h"
#include "engine/request.h"

namespace parlance {

// What the model is asked: the conversation up to the last word, without marks behind it, and the mark.
struct EndOfTurnPrompt {
  std::vector<Token> tokens;
  std::optional<Token> mark;  // that the recogniser put there
  Token turn_end;             // with which the chat template ends a turn
};

// `before` is the conversation without the open turn. None when the template changes words so that the prompt
// cannot be cut behind them, or there are no words. Errors: as of prompt_text().
Result<std::optional<EndOfTurnPrompt>> end_of_turn_prompt(const TextModel& text, std::vector<Message> before,
                                                          std::string_view words, bool has_thinking);

// Marks that recognisers guess at would tell the model that a sentence has ended. So it is asked twice: how
// likely the turn or the sentence ends behind the last word, and how likely the turn ends behind the mark.
// One step behind the words' own, in a sequence of its own, which shares what is known of the conversation.
class EndOfTurnRequest {
 public:
  // Errors: as of Request::start().
  static Result<std::unique_ptr<EndOfTurnRequest>> start(std::shared_ptr<Context> context,
                                                         const EndOfTurnPrompt& prompt, const Work& work,
                                                         Request::OnNews on_news);

  // On the thread of its owner: takes what has come. Whether it has ended.
  bool poll();
  // Once it has ended: 0 to 1. Errors: of the computation; cancelled.
  Result<double> probability() const;

 private:
  EndOfTurnRequest(std::shared_ptr<Context> context, Token turn_end)
      : context_(std::move(context)), turn_end_(turn_end) {}
  bool ends_turn(Token token) const;
  bool is_mark(Token token) const;

  std::shared_ptr<Context> context_;
  Token turn_end_;
  std::unique_ptr<Request> request_;
  std::vector<TokenLogprobs> logprobs_;  // of the two tokens
};

}  // namespace parlance
