#include "chat/prompt.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace parlance {

namespace {

using Json = nlohmann::ordered_json;

// Variables as templates of published models expect them. Bytes that are no UTF-8 become U+FFFD.
std::string variables_json(const std::vector<Message>& messages, const PromptOptions& options,
                           bool add_generation_prompt, bool enable_thinking) {
  Json list = Json::array();
  for (const Message& message : messages) {
    list.push_back({{"role", message.role}, {"content", message.content}});
  }
  const Json variables = {{"messages", std::move(list)},
                          {"add_generation_prompt", add_generation_prompt},
                          {"enable_thinking", enable_thinking},
                          {"bos_token", options.bos_token},
                          {"eos_token", options.eos_token}};
  return variables.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool has_system(const std::vector<Message>& messages) {
  return std::any_of(messages.begin(), messages.end(), [](const Message& m) { return m.role == "system"; });
}

// The same conversation for a template that knows no system role: its text goes before the first user
// message.
std::vector<Message> with_system_in_user(const std::vector<Message>& messages) {
  std::string system;
  std::vector<Message> others;
  for (const Message& message : messages) {
    if (message.role == "system") {
      system += message.content + "\n";
    } else {
      others.push_back(message);
    }
  }
  const auto user =
      std::find_if(others.begin(), others.end(), [](const Message& m) { return m.role == "user"; });
  if (user == others.end()) {
    others.insert(others.begin(), {"user", system});
  } else {
    user->content = system + user->content;
  }
  return others;
}

Result<std::string> render(const ChatTemplate& chat_template, const std::vector<Message>& messages,
                           const PromptOptions& options, bool add_generation_prompt, bool enable_thinking) {
  auto text = chat_template.render(variables_json(messages, options, add_generation_prompt, enable_thinking),
                                   options.now_unix_s);
  if (text || !has_system(messages)) return text;
  auto without = chat_template.render(
      variables_json(with_system_in_user(messages), options, add_generation_prompt, enable_thinking),
      options.now_unix_s);
  return without ? without : text;  // the first error is the one that names what was given
}

}  // namespace

Result<std::string> render_prompt(const ChatTemplate& chat_template, const std::vector<Message>& messages,
                                  const PromptOptions& options) {
  const bool is_open =
      !messages.empty() && messages.back().role == "assistant" && options.add_generation_prompt;
  PARLANCE_TRY(std::string text,
               render(chat_template, messages, options, options.add_generation_prompt && !is_open,
                      options.enable_thinking && !is_open));
  if (is_open) {
    // What follows the last answer is its end marker. A template that rewrites answers beyond recognition
    // gets the answer behind its own opening instead.
    const std::string& answer = messages.back().content;
    const size_t at = text.rfind(answer);
    if (at != std::string::npos) {
      text.resize(at + answer.size());
    } else {
      PARLANCE_TRY(text, render(chat_template, {messages.begin(), messages.end() - 1}, options, true, false));
      text += answer;
    }
  }
  if (options.tokenizer_adds_bos && !options.bos_token.empty() && text.starts_with(options.bos_token)) {
    text.erase(0, options.bos_token.size());
  }
  return text;
}

}  // namespace parlance
