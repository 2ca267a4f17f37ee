#include "server/chat_messages.h"

#include <algorithm>
#include <array>

namespace parlance {

namespace {

constexpr size_t kMostNameBytesOfMessage = 64;

tl::unexpected<ApiError> wrong_type(const std::string& where, const char* expected) {
  return refuse("invalid_type", where, "{} must be {}", where, expected);
}

// A part of a content that is an array.
ApiResult<std::string> part_text(const Json& part, const std::string& where) {
  const Body body(part);
  if (!part.is_object()) return wrong_type(where, "an object");
  const auto type = body.text("type");
  if (!type) return refuse("missing_required_parameter", where + ".type", "{} needs a type", where);
  const char* member = *type == "text" ? "text" : *type == "refusal" ? "refusal" : nullptr;
  if (!member) {
    return refuse("unsupported_parameter", where, "{} is of type {}; only text parts are understood", where,
                  Json(*type).line());
  }
  const auto text = body.text(member);
  if (!text) return wrong_type(where + "." + member, "a string");
  return *text;
}

ApiResult<std::string> content_text(const Body& message, const std::string& where) {
  const Json* content = message.find("content");
  if (!content) return std::string();
  if (auto text = content->text()) return *std::move(text);
  const auto parts = content->elements();
  if (!parts) return wrong_type(where, "a string or an array of parts");
  std::string text;
  for (size_t i = 0; i < parts->size(); ++i) {
    PARLANCE_API_TRY(const std::string part, part_text((*parts)[i], fmt::format("{}[{}]", where, i)));
    text += (i == 0 ? "" : "\n") + part;
  }
  return text;
}

// The calls of an assistant's message. Arguments that are a JSON object in a string are what templates
// expect; what is none stays a string.
ApiResult<std::string> calls_text(const Json& calls, const std::string& where) {
  const auto elements = calls.elements();
  if (!elements) return wrong_type(where, "an array");
  Json list = Json::array();
  for (size_t i = 0; i < elements->size(); ++i) {
    const std::string at = fmt::format("{}[{}]", where, i);
    const auto function = (*elements)[i].member("function");
    const auto name = function ? function->member("name") : std::nullopt;
    if (!name || !name->text()) {
      return refuse("missing_required_parameter", at + ".function.name", "{} needs the name of a function",
                    at);
    }
    Json call = (*elements)[i], changed = *function;
    if (const auto text = changed.member("arguments"); text && text->text()) {
      if (const auto parsed = Json::parse(*text->text()); parsed && parsed->is_object()) {
        changed.set("arguments", *parsed);
      }
    }
    list.push(call.set("function", changed));
  }
  return list.line();
}

ApiResult<std::string> role_of(const Body& message, const std::string& where) {
  const auto role = message.text("role");
  if (!role) return refuse("missing_required_parameter", where + ".role", "{} needs a role", where);
  if (*role == "developer") return std::string("system");
  if (*role == "function") return std::string("tool");
  constexpr std::array kRoles = {"system", "user", "assistant", "tool"};
  if (std::find(kRoles.begin(), kRoles.end(), *role) != kRoles.end()) return *role;
  return refuse("invalid_value", where + ".role",
                "{}.role must be system, developer, user, assistant or tool, got {}", where,
                Json(*role).line());
}

ApiResult<Message> read_message(const Json& json, const std::string& where) {
  if (!json.is_object()) return wrong_type(where, "an object");
  const Body body(json);
  Message message;
  PARLANCE_API_TRY(message.role, role_of(body, where));
  PARLANCE_API_TRY(message.content, content_text(body, where + ".content"));
  if (message.role == "tool") {
    const auto id = body.text("tool_call_id");
    if (!id && body.text("role") == "tool") {
      return refuse("missing_required_parameter", where + ".tool_call_id",
                    "{} answers a call; say which one with tool_call_id", where);
    }
    message.tool_call_id = id.value_or("");
  } else if (message.role == "assistant") {
    message.reasoning_content = body.text("reasoning_content").value_or("");
    if (const Json* calls = body.find("tool_calls")) {
      PARLANCE_API_TRY(message.tool_calls_json, calls_text(*calls, where + ".tool_calls"));
    }
  }
  const bool may_be_empty = message.role == "assistant";
  if (!may_be_empty && !body.has("content")) {
    return refuse("missing_required_parameter", where + ".content", "{} needs content", where);
  }
  if (const auto name = body.text("name")) {
    if (name->size() > kMostNameBytesOfMessage) {
      return refuse("string_above_max_length", where + ".name", "{}.name may have {} bytes", where,
                    kMostNameBytesOfMessage);
    }
    message.name = *name;
  }
  return message;
}

}  // namespace

ApiResult<std::vector<Message>> read_messages(const Json& json) {
  const auto elements = json.elements();
  if (!elements) return refuse("invalid_type", "messages", "messages must be an array");
  std::vector<Message> messages;
  for (size_t i = 0; i < elements->size(); ++i) {
    PARLANCE_API_TRY(Message message, read_message((*elements)[i], fmt::format("messages[{}]", i)));
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace parlance
