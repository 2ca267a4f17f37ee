#include "assistant/conversation.h"

#include <algorithm>
#include <ctime>

#include "assistant/messages.h"
#include "base/parameter.h"
#include "json/json.h"

namespace parlance {

Result<std::string> prompt_text(const TextModel& text, const std::vector<Message>& messages,
                                const PromptManner& manner) {
  PARLANCE_TRY(const ChatTemplate* chat_template, text.chat_template());
  const Tokenizer& tokenizer = text.tokenizer();
  const auto text_of = [&](std::optional<Token> token) {
    return token ? std::string(tokenizer.text(*token)) : std::string();
  };
  return render_prompt(*chat_template, messages,
                       {.add_generation_prompt = manner.awaits_answer,
                        .enable_thinking = manner.has_thinking,
                        .bos_token = text_of(tokenizer.bos()),
                        .eos_token = text_of(tokenizer.eos()),
                        .tokenizer_adds_bos = tokenizer.adds_bos(),
                        .now_unix_s = std::time(nullptr),
                        .tools_json = manner.tools_json,
                        .variables_json = manner.variables_json});
}

std::vector<Token> tokens_of_prompt(const TextModel& text, std::string_view prompt) {
  return text.tokenizer().encode(prompt, {.add_special = true, .parse_special = true});
}

Result<std::vector<Token>> prompt_tokens(const TextModel& text, const std::vector<Message>& messages,
                                         bool has_thinking) {
  PARLANCE_TRY(const std::string prompt, prompt_text(text, messages, {.has_thinking = has_thinking}));
  return tokens_of_prompt(text, prompt);
}

Result<void> check_fits(const Session& session, size_t n_tokens) {
  if (static_cast<int64_t>(n_tokens) <= session.n_ctx()) return {};
  return fail(ErrorCode::invalid_argument,
              "the prompt has {} tokens and the context holds {}; shorten it or raise {} (this model "
              "was trained for {})",
              n_tokens, session.n_ctx(), Parameter::ctx_size, session.model().hyper_parameters().n_ctx_train);
}

std::vector<Message> Conversation::seen() const {
  std::vector<Message> messages;
  if (!system_.empty()) messages.push_back({"system", system_});
  messages.insert(messages.end(), messages_.begin() + static_cast<std::ptrdiff_t>(n_left_out_),
                  messages_.end());
  return messages;
}

// The tokens of the conversation, its oldest turns left out until there is room for an answer.
Result<std::vector<Token>> Conversation::fit(const GenerateOptions& options) {
  const int64_t n_ctx = session_.n_ctx();
  int64_t n_room = std::max<int64_t>(1, n_ctx / 4);
  if (options.max_tokens >= 0) n_room = std::min(n_room, options.max_tokens);
  for (;;) {
    PARLANCE_TRY(std::vector<Token> tokens, prompt_tokens(session_.model(), seen(), has_thinking_));
    if (static_cast<int64_t>(tokens.size()) + n_room <= n_ctx) return tokens;
    if (!leave_out_a_turn()) {  // the question is all that is left; a shorter answer will have to do
      PARLANCE_CHECK(check_fits(session_, tokens.size()));
      return tokens;
    }
  }
}

// The oldest one; false when there is but one.
bool Conversation::leave_out_a_turn() {
  size_t next = n_left_out_ + 1;
  while (next < messages_.size() && messages_[next].role != "user") ++next;
  if (next >= messages_.size()) return false;
  n_left_out_ = next;
  return true;
}

Result<std::optional<std::vector<Token>>> Conversation::make_room(double above, double to) {
  const auto n_ctx = static_cast<double>(session_.n_ctx());
  if (static_cast<double>(session_.tokens().size()) <= above * n_ctx) return std::nullopt;
  for (;;) {
    PARLANCE_TRY(std::vector<Token> tokens, prompt_tokens(session_.model(), seen(), has_thinking_));
    if (static_cast<double>(tokens.size()) > to * n_ctx && leave_out_a_turn()) continue;
    PARLANCE_CHECK(check_fits(session_, tokens.size()));
    return tokens;
  }
}

Result<std::vector<Token>> Conversation::begin(std::string question, const GenerateOptions& options) {
  n_left_out_before_ = n_left_out_;
  messages_.push_back({"user", std::move(question)});
  auto tokens = fit(options);
  if (!tokens) forget_question();
  return tokens;
}

void Conversation::forget_question() {
  messages_.pop_back();
  n_left_out_ = n_left_out_before_;
}

Result<Conversation::Answer> Conversation::end(Result<GenerateResult> result) {
  if (!result) {
    forget_question();
    return tl::unexpected<Error>(std::move(result).error());
  }
  Answer answer{.result = *std::move(result), .n_left_out = n_left_out_ - n_left_out_before_};
  if (answer.result.finish_reason == FinishReason::cancelled && answer.result.text.empty()) {
    forget_question();
  } else {
    messages_.push_back({"assistant", answer.result.text});
  }
  return answer;
}

Result<Conversation::Answer> Conversation::ask(std::string question, const GenerateOptions& options,
                                               const OnText& on_text) {
  PARLANCE_TRY(const std::vector<Token> tokens, begin(std::move(question), options));
  return end(generate(session_, tokens, options, on_text));
}

void Conversation::shorten_answer(std::string text) {
  if (text.empty()) {
    undo();
  } else if (!messages_.empty() && messages_.back().role == "assistant") {
    messages_.back().content = std::move(text);
  }
}

std::string Conversation::undo() {
  std::string question;
  for (bool found = false; !found && !messages_.empty(); messages_.pop_back()) {
    found = messages_.back().role == "user";
    if (found) question = messages_.back().content;
  }
  n_left_out_ = std::min(n_left_out_, messages_.size());
  return question;
}

void Conversation::clear() {
  messages_.clear();
  n_left_out_ = 0;
}

std::string Conversation::to_json() const {
  std::vector<Message> all;
  if (!system_.empty()) all.push_back({"system", system_});
  all.insert(all.end(), messages_.begin(), messages_.end());
  return Json::object({{"messages", parlance::to_json(all)}}).pretty() + "\n";
}

Result<void> Conversation::restore(std::string_view json) {
  PARLANCE_TRY(const Json value, Json::parse(json));
  const auto member = value.member("messages");
  if (!member) return fail(ErrorCode::corrupt_file, "there is no \"messages\"");
  PARLANCE_TRY(std::vector<Message> messages, messages_from(*member));
  std::string system;
  if (!messages.empty() && messages.front().role == "system") {
    system = std::move(messages.front().content);
    messages.erase(messages.begin());
  }
  if (!messages.empty() && messages.front().role != "user") {
    return fail(ErrorCode::corrupt_file, "the conversation must begin with the user, not \"{}\"",
                messages.front().role);
  }
  system_ = std::move(system);
  messages_ = std::move(messages);
  n_left_out_ = 0;
  return {};
}

}  // namespace parlance
