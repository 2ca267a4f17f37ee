// A conversation with a model: what was said, how it is put to the model, and what to do when it outgrows the
// context.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/prompt.h"
#include "engine/generate.h"

namespace parlance {

// How a conversation is put to a model.
struct PromptManner {
  std::optional<bool> has_thinking = false;  // none: as the template has it
  bool awaits_answer = true;                 // ends where an answer begins
  std::string tools_json = {};               // an array of tool definitions; empty: none
  std::string variables_json = {};  // an object with more variables for the template, which win; empty: none
};

// The text of a conversation under the model's chat template, and its tokens.
Result<std::string> prompt_text(const TextModel& text, const std::vector<Message>& messages,
                                const PromptManner& manner);
std::vector<Token> tokens_of_prompt(const TextModel& text, std::string_view prompt);

// The tokens of a conversation under the model's chat template, ready for an answer.
Result<std::vector<Token>> prompt_tokens(const TextModel& text, const std::vector<Message>& messages,
                                         bool has_thinking);

// An error that names both counts when a prompt does not fit the context.
Result<void> check_fits(const Session& session, size_t n_tokens);

class Conversation {
 public:
  Conversation(Session& session, std::string system, bool has_thinking)
      : session_(session), system_(std::move(system)), has_thinking_(has_thinking) {}

  struct Answer {
    GenerateResult result;
    size_t n_left_out = 0;  // oldest messages that this answer, unlike the one before, no longer knew
  };

  // Puts a question and yields the answer; both are kept. On an error, and when it was cancelled before the
  // first word, the question is forgotten.
  Result<Answer> ask(std::string question, const GenerateOptions& options, const OnText& on_text);

  // The same for those who have the answer made elsewhere: the prompt for it, then what came of it.
  Result<std::vector<Token>> begin(std::string question, const GenerateOptions& options);
  Result<Answer> end(Result<GenerateResult> result);

  // For those who will be in a hurry: when the conversation takes more than the first share of the context,
  // its oldest turns are left out until it takes no more than the second. Yields what there is to compute
  // again; nothing when there is room.
  Result<std::optional<std::vector<Token>>> make_room(double above, double to);

  // What is remembered of the last answer instead of all of it; without words the question is forgotten too.
  void shorten_answer(std::string text);

  // Forgets the last question and what followed; yields the question, empty when there is none.
  std::string undo();
  void clear();

  const std::string& system() const { return system_; }
  void set_system(std::string text) { system_ = std::move(text); }
  // Without the system message, oldest first.
  const std::vector<Message>& messages() const { return messages_; }
  // As the model is told of it: with the system message, without what was left out.
  std::vector<Message> seen() const;

  // As JSON: {"messages": [{"role": …, "content": …}, …]}, the system message first. restore() leaves the
  // conversation as it was on an error, which names no file.
  std::string to_json() const;
  Result<void> restore(std::string_view json);

 private:
  Result<std::vector<Token>> fit(const GenerateOptions& options);
  bool leave_out_a_turn();
  void forget_question();

  Session& session_;
  std::string system_;
  bool has_thinking_;
  std::vector<Message> messages_;
  size_t n_left_out_ = 0;         // of messages_, from the front: the model is no longer told of these
  size_t n_left_out_before_ = 0;  // the last question
};

}  // namespace parlance
