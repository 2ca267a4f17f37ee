#include "server/chat_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "server/answer_format.h"
#include "server/chat_messages.h"
#include "server/chat_tools.h"

namespace parlance {

namespace {

constexpr size_t kMostToolBytes = size_t{256} << 10;  // of all together
constexpr size_t kMostDescriptionBytes = size_t{4} << 10;
constexpr size_t kMostToolNameBytes = 64;
constexpr size_t kMostTemplateBytes = size_t{4} << 10;
constexpr size_t kMostMetadata = 16;

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostToolNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return ascii::is_letter(c) || ascii::is_digit(c) || c == '_' || c == '-';
         });
}

ApiResult<std::string> tool_name(const Json& tool, const std::string& where) {
  const Body body(tool);
  if (!tool.is_object()) return refuse("invalid_type", where, "{} must be an object", where);
  if (body.text("type").value_or("") != "function") {
    return refuse("unsupported_value", where + ".type", "{}.type can only be \"function\"", where);
  }
  const Body function = body.object("function");
  const auto name = function.text("name");
  if (!name) return refuse("missing_required_parameter", where + ".function.name", "{} needs a name", where);
  if (!is_tool_name(*name)) {
    return refuse("invalid_value", where + ".function.name",
                  "{}.function.name must have 1 to {} letters, digits, _ or -, got {}", where,
                  kMostToolNameBytes, Json(*name).line());
  }
  if (function.text("description").value_or("").size() > kMostDescriptionBytes) {
    return refuse("string_above_max_length", where + ".function.description",
                  "{}.function.description may have {} bytes", where, kMostDescriptionBytes);
  }
  if (const Json* parameters = function.find("parameters"); parameters && !parameters->is_object()) {
    return refuse("invalid_type", where + ".function.parameters", "{}.function.parameters must be a schema",
                  where);
  }
  return *name;
}

ApiResult<void> read_tools(const Json& tools, ChatRequest& chat) {
  const std::vector<Json> elements = *tools.elements();
  for (size_t i = 0; i < elements.size(); ++i) {
    const std::string where = fmt::format("tools[{}]", i);
    PARLANCE_API_TRY(const std::string name, tool_name(elements[i], where));
    if (!chat.tools.emplace(name, text_parameters(elements[i])).second) {
      return refuse("invalid_value", where + ".function.name", "two tools are called {}; rename one", name);
    }
  }
  if (elements.empty()) return {};
  chat.manner.tools_json = tools.line();
  if (chat.manner.tools_json.size() > kMostToolBytes) {
    return refuse("invalid_value", "tools", "the tools have {} bytes, and may have {}",
                  chat.manner.tools_json.size(), kMostToolBytes);
  }
  return {};
}

// "none", "auto", "required", or "function" with that tool alone in what may be called.
ApiResult<std::string> read_tool_choice(const Body& body, ChatRequest& chat) {
  const Json* choice = body.find("tool_choice");
  if (!choice) return std::string(chat.tools.empty() ? "none" : "auto");
  const auto wrong = [](const std::string& why) {
    return refuse("invalid_value", "tool_choice", "tool_choice: {}", why);
  };
  if (const auto word = choice->text()) {
    if (*word != "none" && *word != "auto" && *word != "required") {
      return wrong("it must be none, auto, required or a tool, got " + Json(*word).line());
    }
    if (*word == "required" && chat.tools.empty()) return wrong("there are no tools; give some");
    return *word;
  }
  const Body given(*choice);
  if (given.text("type") != "function") return wrong("it must be none, auto, required or one function");
  const std::string name = given.object("function").text("name").value_or("");
  if (!chat.tools.contains(name)) return wrong("there is no tool " + Json(name).line());
  std::erase_if(chat.tools, [&](const auto& tool) { return tool.first != name; });
  return std::string("function");
}

ApiResult<void> read_thinking(const Site& site, const Body& body, PromptManner& manner) {
  manner.has_thinking = site.options.thinks;
  if (const auto effort = body.text("reasoning_effort"))
    manner.has_thinking = *effort != "none" && *effort != "minimal";
  const Json* variables = body.find("chat_template_kwargs");
  if (!variables) return {};
  manner.variables_json = variables->line();
  if (manner.variables_json.size() > kMostTemplateBytes) {
    return refuse("invalid_value", "chat_template_kwargs", "chat_template_kwargs may have {} bytes",
                  kMostTemplateBytes);
  }
  if (const Json* thinks = Body(*variables).find("enable_thinking")) {
    manner.has_thinking = thinks->truth().value_or(manner.has_thinking);
  }
  return {};
}

ApiResult<void> check_modalities(const Body& body) {
  const Json* modalities = body.find("modalities");
  if (!modalities) return {};
  const std::vector<Json> elements = *modalities->elements();
  for (const Json& one : elements) {
    if (one.text() != "text") {
      return refuse("unsupported_value", "modalities",
                    "modalities can only be [\"text\"]; POST /v1/audio/speech says an answer");
    }
  }
  return {};
}

ApiResult<void> check_metadata(const Body& body) {
  const auto members = body.object("metadata").members();
  const bool fits =
      members.size() <= kMostMetadata && std::all_of(members.begin(), members.end(), [](const auto& m) {
        return m.first.size() <= 64 && m.second.text() && m.second.text()->size() <= 512;
      });
  if (fits) return {};
  return refuse("invalid_value", "metadata", "metadata may have {} texts of 512 bytes, under names of 64",
                kMostMetadata);
}

}  // namespace

ApiResult<ChatRequest> read_chat(const Site& site, const Body& body) {
  const Json* messages = body.find("messages");
  if (!messages)
    return refuse("missing_required_parameter", "messages", "there are no messages; give the conversation");
  ChatRequest chat;
  PARLANCE_API_TRY(chat.messages, read_messages(*messages));
  if (const Json* tools = body.find("tools")) PARLANCE_API_CHECK(read_tools(*tools, chat));
  PARLANCE_API_TRY(const std::string choice, read_tool_choice(body, chat));
  chat.is_one_call = !body.boolean("parallel_tool_calls", true);
  if (choice == "none") chat.tools.clear();
  if (!chat.manner.tools_json.empty() && site.tool_family == ToolFamily::none) {
    describe_tools(std::exchange(chat.manner.tools_json, {}), chat.messages);
    chat.is_described = true;
  }
  PARLANCE_API_TRY(chat.grammar, read_answer_format(body, choice));
  if (choice == "required" || choice == "function") {
    return refuse("unsupported_value", "tool_choice",
                  "a call cannot be forced by this build; say auto, and tell the model in words to call it");
  }
  PARLANCE_API_CHECK(check_modalities(body));
  PARLANCE_API_CHECK(check_metadata(body));
  PARLANCE_API_CHECK(read_thinking(site, body, chat.manner));
  return chat;
}

ApiResult<std::string> chat_text(const Site& site, const ChatRequest& chat) {
  auto text = prompt_text(site.text->model(), chat.messages, chat.manner);
  if (text) return *std::move(text);
  ApiError error = api_error(text.error());
  if (!error.param) error.param = "messages";
  return tl::unexpected(std::move(error));
}

AnswerReaderOptions reader_for(const Site& site, const ChatRequest& chat, std::string_view prompt) {
  const size_t opened = prompt.rfind("<think>"), closed = prompt.rfind("</think>");
  const bool is_open =
      opened != std::string_view::npos && (closed == std::string_view::npos || closed < opened);
  const ToolFamily family = chat.is_described ? ToolFamily::hermes : site.tool_family;
  return {.family = chat.tools.empty() ? ToolFamily::none : family,
          .tools = chat.tools,
          .begins_in_thoughts = is_open && chat.manner.has_thinking};
}

}  // namespace parlance
