#include "server/ollama_input.h"

#include "server/renamed_fields.h"

namespace parlance {

namespace {

// Of `options`.
constexpr RenamedField kOptions[] = {{"temperature", "options.temperature"},
                                     {"top_k", "options.top_k"},
                                     {"top_p", "options.top_p"},
                                     {"min_p", "options.min_p"},
                                     {"seed", "options.seed"},
                                     {"stop", "options.stop"},
                                     {"repeat_penalty", "options.repeat_penalty"},
                                     {"repeat_last_n", "options.repeat_last_n"},
                                     {"presence_penalty", "options.presence_penalty"},
                                     {"frequency_penalty", "options.frequency_penalty"}};

constexpr RenamedField kFields[] = {{"max_tokens", "options.num_predict"},
                                    {"reasoning_effort", "think"},
                                    {"chat_template_kwargs.enable_thinking", "think"},
                                    {"response_format", "format"},
                                    {"json_schema", "format"}};
constexpr RenamedField kPrompt[] = {{"messages", "prompt"}};

// A message in the form of chats.
Json chat_message(const Json& given) {
  if (!given.is_object()) return given;
  Json message = Json::object();
  for (const auto& [name, value] : Body(given).members()) {
    if (name == "thinking") {
      message.set("reasoning_content", value);
    } else if (name == "tool_name") {
      message.set("tool_call_id", value);
    } else if (name != "images" || !value.elements() || !value.elements()->empty()) {
      message.set(name, value);
    }
  }
  if (Body(message).text("role") == "tool" && !message.member("tool_call_id"))
    message.set("tool_call_id", "call");
  return message;
}

ApiResult<Json> chat_messages(const Json& given) {
  Json messages = Json::array();
  const std::vector<Json> elements = *given.elements();
  for (size_t i = 0; i < elements.size(); ++i) {
    const Json message = chat_message(elements[i]);
    if (message.member("images")) {
      return refuse("unsupported_parameter", fmt::format("messages[{}].images", i),
                    "messages[{}].images: this model sees no images", i);
    }
    messages.push(message);
  }
  return messages;
}

// A question alone, with what the model is told before.
ApiResult<Json> messages_of_prompt(const Body& body) {
  Json messages = Json::array();
  if (const auto system = body.text("system"))
    messages.push(Json::object({{"role", "system"}, {"content", *system}}));
  return messages.push(Json::object({{"role", "user"}, {"content", body.text("prompt").value_or("")}}));
}

}  // namespace

std::optional<std::string> without_tag(std::optional<std::string> name) {
  if (name && name->ends_with(kOllamaTag)) name->resize(name->size() - kOllamaTag.size());
  return name;
}

// Names of `options` that are not among these have no effect.
ApiResult<Json> chat_of_ollama(const Body& body) {
  const Json* given = body.find("messages");
  PARLANCE_API_TRY(const Json messages, given ? chat_messages(*given) : messages_of_prompt(body));
  Json chat = Json::object({{"messages", messages}});
  for (const char* name : {"tools", "parlance", "session_id"}) {
    if (const Json* value = body.find(name)) chat.set(name, *value);
  }
  if (const auto model = without_tag(body.text("model"))) chat.set("model", *model);
  chat.set("stream", body.boolean("stream", true));
  if (const Json* thinks = body.find("think")) {
    if (const auto truth = thinks->truth()) {
      chat.set("chat_template_kwargs", Json::object({{"enable_thinking", *truth}}));
    } else {
      chat.set("reasoning_effort", *thinks);
    }
  }
  const Body options = body.object("options");
  for (const RenamedField& option : kOptions) {
    if (const Json* value = options.find(option.of_chat)) chat.set(option.of_chat, *value);
  }
  // Below 0: as many as there may be.
  if (const auto n = options.integer("num_predict"); n && *n >= 0) chat.set("max_tokens", *n);
  if (const Json* format = body.find("format"); format && format->line() != "\"\"") {
    if (format->text() == "json") {
      chat.set("response_format", Json::object({{"type", "json_object"}}));
    } else {
      chat.set("json_schema", *format);
    }
  }
  return chat;
}

ApiError in_names_of_ollama(ApiError error, bool is_chat) {
  error = in_words_of_request(in_words_of_request(std::move(error), kFields), kOptions);
  return is_chat ? error : in_words_of_request(std::move(error), kPrompt);
}

}  // namespace parlance
