#include "chat/prompt.h"

#include <algorithm>
#include <utility>

#include "jinja/value.h"
#include "jinja/variables.h"
#include "text/unicode.h"

namespace parlance {

namespace {

using jinja::Dict;
using jinja::Value;

constexpr size_t kMaxJsonDepth = 100;

Value text(std::string_view bytes) {
  return jinja::make_text(nullptr, sanitise_utf8(bytes));
}

// JSON that the caller gave under a name; none when it is empty.
Result<Value> json(std::string_view name, std::string_view bytes) {
  if (bytes.empty()) return Value::none();
  auto value = jinja::parse_json(sanitise_utf8(bytes), kMaxJsonDepth);
  if (!value) return fail(value.error().code, "{} of the prompt, {}", name, value.error().message);
  return value;
}

Result<Value> message_value(const Message& message) {
  std::vector<Dict::Entry> entries = {{text("role"), text(message.role)},
                                      {text("content"), text(message.content)}};
  if (!message.reasoning_content.empty()) {
    entries.emplace_back(text("reasoning_content"), text(message.reasoning_content));
  }
  if (!message.tool_calls_json.empty()) {
    PARLANCE_TRY(Value calls, json("tool calls", message.tool_calls_json));
    entries.emplace_back(text("tool_calls"), std::move(calls));
  }
  if (!message.tool_call_id.empty()) entries.emplace_back(text("tool_call_id"), text(message.tool_call_id));
  if (!message.name.empty()) entries.emplace_back(text("name"), text(message.name));
  return jinja::make_dict(nullptr, std::move(entries));
}

Result<std::string> render(const ChatTemplate& chat_template, const std::vector<Message>& messages,
                           const PromptOptions& options) {
  std::vector<Value> list;
  for (const Message& message : messages) {
    PARLANCE_TRY(Value value, message_value(message));
    list.push_back(std::move(value));
  }
  PARLANCE_TRY(Value tools, json("tools", options.tools_json));
  std::vector<Dict::Entry> variables = {
      {text("messages"), jinja::make_sequence(nullptr, std::move(list))},
      {text("tools"), std::move(tools)},
      {text("documents"), Value::none()},
      {text("add_generation_prompt"), Value::boolean(options.add_generation_prompt)},
      {text("bos_token"), text(options.bos_token)},
      {text("eos_token"), text(options.eos_token)},
  };
  if (options.enable_thinking)
    variables.emplace_back(text("enable_thinking"), Value::boolean(*options.enable_thinking));
  PARLANCE_TRY(const Value more, json("variables", options.variables_json));
  if (const Dict* dict = more.dict()) {
    variables.insert(variables.end(), dict->entries.begin(), dict->entries.end());
  } else if (!more.is_none()) {
    return fail(ErrorCode::invalid_argument, "variables of the prompt: expected a JSON object, found '{}'",
                jinja::type_name(more));
  }
  return chat_template.render(jinja::make_dict(nullptr, std::move(variables)), options.now_unix_s);
}

bool is_system(const Message& message) {
  return message.role == "system";
}

// Text that stands in none of the messages, to be looked for in what is rendered.
std::string unused_marker(const std::vector<Message>& messages) {
  for (int i = 0;; ++i) {
    std::string marker = "MARK" + std::to_string(i) + "MARK";
    const bool is_used = std::any_of(messages.begin(), messages.end(), [&](const Message& message) {
      return message.content.find(marker) != std::string::npos;
    });
    if (!is_used) return marker;
  }
}

// Whether the rendered text lacks the system messages. A template may change them on their way, so that a
// marker is sent after them when they are not found as they are.
bool ignores_system(const ChatTemplate& chat_template, std::vector<Message> messages,
                    const PromptOptions& options, std::string_view rendered) {
  const bool is_present = std::any_of(messages.begin(), messages.end(), [&](const Message& message) {
    return is_system(message) &&
           rendered.find(strip(sanitise_utf8(message.content))) != std::string_view::npos;
  });
  if (is_present) return false;
  const std::string marker = unused_marker(messages);
  for (Message& message : messages) {
    if (is_system(message)) message.content += marker;
  }
  const auto probed = render(chat_template, messages, options);
  return probed && probed->find(marker) == std::string::npos;
}

// The same conversation with the texts of the system messages in front of the first user message.
std::vector<Message> without_system(const std::vector<Message>& messages) {
  std::string instructions;
  std::vector<Message> others;
  for (const Message& message : messages) {
    if (is_system(message)) {
      instructions += message.content + "\n";
    } else {
      others.push_back(message);
    }
  }
  const auto user = std::find_if(others.begin(), others.end(),
                                 [](const Message& message) { return message.role == "user"; });
  if (user != others.end()) {
    user->content.insert(0, instructions);
  } else {
    instructions.pop_back();
    others.insert(others.begin(), Message{"user", instructions});
  }
  return others;
}

Result<std::string> render_with_system(const ChatTemplate& chat_template,
                                       const std::vector<Message>& messages, const PromptOptions& options) {
  Result<std::string> rendered = render(chat_template, messages, options);
  if (std::none_of(messages.begin(), messages.end(), is_system)) return rendered;
  const bool is_refused = !rendered && rendered.error().code == ErrorCode::invalid_argument;
  const bool is_ignored = rendered && ignores_system(chat_template, messages, options, *rendered);
  if (!is_refused && !is_ignored) return rendered;
  Result<std::string> folded = render(chat_template, without_system(messages), options);
  return folded ? folded : rendered;
}

// Up to the end of the last message, without what the template closes it with.
Result<std::string> render_open(const ChatTemplate& chat_template, std::vector<Message> messages,
                                PromptOptions options) {
  const std::string marker = unused_marker(messages);
  messages.back().content += marker;
  options.add_generation_prompt = false;
  options.enable_thinking = false;
  PARLANCE_TRY(std::string rendered, render_with_system(chat_template, messages, options));
  const size_t end = rendered.rfind(marker);
  if (end == std::string::npos) {
    return fail(ErrorCode::unsupported,
                "the chat template does not print an assistant message at the end of a conversation, which "
                "therefore cannot be continued; end the conversation with a user message");
  }
  rendered.resize(end);
  return rendered;
}

}  // namespace

Result<std::string> render_prompt(const ChatTemplate& chat_template, const std::vector<Message>& messages,
                                  const PromptOptions& options) {
  const bool continues = options.add_generation_prompt && !messages.empty() &&
                         messages.back().role == "assistant" && messages.back().tool_calls_json.empty();
  PARLANCE_TRY(std::string prompt, continues ? render_open(chat_template, messages, options)
                                             : render_with_system(chat_template, messages, options));
  const std::string bos = sanitise_utf8(options.bos_token);
  if (options.tokenizer_adds_bos && !bos.empty() && prompt.starts_with(bos)) prompt.erase(0, bos.size());
  return prompt;
}

}  // namespace parlance
