#include "server/chat_tools.h"

#include <algorithm>

#include "assistant/conversation.h"

namespace parlance {

namespace {

constexpr const char* kProbeTools =
    R"([{"type":"function","function":{"name":"probe_of_tools","description":"A probe.","parameters":)"
    R"({"type":"object","properties":{"text":{"type":"string"}}}}}])";

}  // namespace

ToolFamily tool_family_of(const TextModel& model) {
  const auto text = prompt_text(model, {{"user", "x"}}, {.tools_json = kProbeTools});
  if (!text || text->find("probe_of_tools") == std::string::npos) return ToolFamily::none;
  const auto has = [&](const char* marker) { return text->find(marker) != std::string::npos; };
  if (has("<function=")) return ToolFamily::qwen_xml;
  if (has("<tool_call>")) return ToolFamily::hermes;
  if (has("\"parameters\": dictionary") || has("ipython")) return ToolFamily::llama_json;
  return ToolFamily::hermes;
}

void describe_tools(const std::string& tools_json, std::vector<Message>& messages) {
  const std::string words =
      "You may call these functions:\n<tools>\n" + tools_json +
      "\n</tools>\nTo call one, write its name and arguments as JSON between these marks:\n"
      "<tool_call>\n{\"name\": <function-name>, \"arguments\": <object>}\n</tool_call>";
  if (!messages.empty() && messages.front().role == "system") {
    messages.front().content += "\n\n" + words;
  } else {
    messages.insert(messages.begin(), {"system", words});
  }
  for (Message& message : messages) {
    if (message.role != "tool") continue;
    message.role = "user";
    message.content = "<tool_response>\n" + message.content + "\n</tool_response>";
  }
}

std::vector<std::string> text_parameters(const Json& tool) {
  std::vector<std::string> names;
  const auto function = tool.member("function");
  const auto schema = function ? function->member("parameters") : std::nullopt;
  const auto properties = schema ? schema->member("properties") : std::nullopt;
  if (!properties) return names;
  for (const auto& [name, property] :
       properties->members().value_or(std::vector<std::pair<std::string, Json>>())) {
    const auto type = property.member("type");
    if (type && type->text() == "string") names.push_back(name);
  }
  return names;
}

}  // namespace parlance
