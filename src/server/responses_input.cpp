#include "server/responses_input.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/random_id.h"
#include "server/renamed_fields.h"

namespace parlance {

namespace {

// A part of a message, as chats have it.
ApiResult<Json> chat_part(const Json& part, const std::string& where) {
  const Body body(part);
  const std::string type = body.text("type").value_or("");
  if (type == "refusal") return part;
  if (type != "input_text" && type != "output_text" && type != "text") {
    return refuse("unsupported_parameter", where, "{} is of type {}; only text parts are understood", where,
                  Json(type).line());
  }
  const auto text = body.text("text");
  if (!text) return refuse("invalid_type", where + ".text", "{}.text must be a string", where);
  return Json::object({{"type", "text"}, {"text", *text}});
}

// A text, or parts.
ApiResult<Json> chat_content(const Json& content, const std::string& where) {
  if (content.text()) return content;
  const auto parts = content.elements();
  if (!parts) return refuse("invalid_type", where, "{} must be a string or an array of parts", where);
  Json list = Json::array();
  for (size_t i = 0; i < parts->size(); ++i) {
    PARLANCE_API_TRY(const Json part, chat_part((*parts)[i], fmt::format("{}[{}]", where, i)));
    list.push(part);
  }
  return list;
}

ApiResult<std::string> needed_text(const Body& item, const char* name, const std::string& where) {
  auto text = item.text(name);
  if (text) return *std::move(text);
  return refuse(item.has(name) ? "invalid_type" : "missing_required_parameter", where + "." + name,
                "{}.{} must be a string", where, name);
}

// Checks one item, and names it.
ApiResult<Json> read_item(const Json& json, const std::string& where, const FindItem& find_item) {
  if (!json.is_object()) return refuse("invalid_type", where, "{} must be an object", where);
  const Body body(json);
  const std::string type = body.text("type").value_or("message");
  const auto named = [&](const char* prefix) {
    Json item = json;
    if (!body.has("type")) item.set("type", type);
    if (!body.text("id")) item.set("id", random_id(prefix));
    return item;
  };
  if (type == "message") {
    const Json* content = body.find("content");
    if (!content) {
      return refuse("missing_required_parameter", where + ".content", "{} needs content", where);
    }
    PARLANCE_API_CHECK(needed_text(body, "role", where));
    PARLANCE_API_CHECK(chat_content(*content, where + ".content"));
    return named("msg_");
  }
  if (type == "function_call") {
    for (const char* name : {"call_id", "name", "arguments"})
      PARLANCE_API_CHECK(needed_text(body, name, where));
    return named("fc_");
  }
  if (type == "function_call_output") {
    PARLANCE_API_CHECK(needed_text(body, "call_id", where));
    const Json* output = body.find("output");
    if (!output) return refuse("missing_required_parameter", where + ".output", "{} needs output", where);
    PARLANCE_API_CHECK(chat_content(*output, where + ".output"));
    return named("fco_");
  }
  if (type == "reasoning") return named("rs_");
  if (type == "item_reference") {
    PARLANCE_API_TRY(const std::string id, needed_text(body, "id", where));
    if (auto item = find_item(id)) return *std::move(item);
    return refuse("invalid_value", where + ".id", "there is no item {} any more; send the item itself",
                  Json(id).line());
  }
  return refuse("unsupported_value", where + ".type",
                "{}.type must be message, function_call, function_call_output, reasoning or item_reference, "
                "got {}",
                where, Json(type).line());
}

Json call_of(const Body& item) {
  return Json::object(
      {{"id", *item.text("call_id")},
       {"type", "function"},
       {"function", Json::object({{"name", *item.text("name")}, {"arguments", *item.text("arguments")}})}});
}

// Calls belong to the words before them.
ApiResult<Json> messages_of(const Body& body, const std::vector<Json>& items) {
  std::vector<Json> messages;
  if (const auto instructions = body.text("instructions"))
    messages.push_back(Json::object({{"role", "system"}, {"content", *instructions}}));
  for (size_t i = 0; i < items.size(); ++i) {
    const Body item(items[i]);
    const std::string type = *item.text("type"), where = fmt::format("input[{}]", i);
    if (type == "message") {
      PARLANCE_API_TRY(const Json content, chat_content(*item.find("content"), where + ".content"));
      messages.push_back(Json::object({{"role", *item.text("role")}, {"content", content}}));
    } else if (type == "function_call") {
      if (messages.empty() || Body(messages.back()).text("role") != "assistant")
        messages.push_back(Json::object({{"role", "assistant"}, {"content", ""}}));
      Json calls = messages.back().member("tool_calls").value_or(Json::array());
      messages.back().set("tool_calls", calls.push(call_of(item)));
    } else if (type == "function_call_output") {
      PARLANCE_API_TRY(const Json content, chat_content(*item.find("output"), where + ".output"));
      messages.push_back(
          Json::object({{"role", "tool"}, {"tool_call_id", *item.text("call_id")}, {"content", content}}));
    }
  }
  Json list = Json::array();
  for (const Json& message : messages) list.push(message);
  return list;
}

// {type, name, …} -> {type, function: {name, …}}
ApiResult<Json> chat_tool(const Json& tool, const std::string& where) {
  const Body body(tool);
  if (body.text("type").value_or("") != "function") {
    return refuse("unsupported_value", where + ".type", "{}.type can only be \"function\"", where);
  }
  Json function = Json::object();
  for (const auto& [name, value] : body.members()) {
    if (name != "type") function.set(name, value);
  }
  return Json::object({{"type", "function"}, {"function", function}});
}

ApiResult<Json> chat_tools(const Json& tools) {
  Json list = Json::array();
  const std::vector<Json> elements = *tools.elements();
  for (size_t i = 0; i < elements.size(); ++i) {
    PARLANCE_API_TRY(const Json tool, chat_tool(elements[i], fmt::format("tools[{}]", i)));
    list.push(tool);
  }
  return list;
}

ApiResult<Json> chat_format(const Json& format) {
  const Body body(format);
  if (body.text("type") != "json_schema") return format;
  Json schema = Json::object();
  for (const auto& [name, value] : body.members()) {
    if (name != "type") schema.set(name, value);
  }
  return Json::object({{"type", "json_schema"}, {"json_schema", schema}});
}

}  // namespace

ApiResult<std::vector<Json>> read_items(const Json& input, const FindItem& find_item) {
  std::vector<Json> items;
  if (const auto text = input.text()) {
    const Json part = Json::object({{"type", "input_text"}, {"text", *text}});
    items.push_back(Json::object({{"id", random_id("msg_")},
                                  {"type", "message"},
                                  {"role", "user"},
                                  {"content", Json::array().push(part)}}));
    return items;
  }
  const std::vector<Json> elements = *input.elements();
  for (size_t i = 0; i < elements.size(); ++i) {
    PARLANCE_API_TRY(items.emplace_back(), read_item(elements[i], fmt::format("input[{}]", i), find_item));
  }
  return items;
}

ApiResult<Json> chat_of_response(const Body& body, const std::vector<Json>& items) {
  Json chat = Json::object();
  const auto take = [&](const char* to, const Json* value) {
    if (value) chat.set(to, *value);
  };
  for (const char* name :
       {"model", "temperature", "top_p", "parallel_tool_calls", "stream", "metadata", "prompt_cache_key"})
    take(name, body.find(name));
  take("max_tokens", body.find("max_output_tokens"));
  const Body reasoning = body.object("reasoning"), text = body.object("text");
  take("reasoning_effort", reasoning.find("effort"));
  if (const Json* n = body.find("top_logprobs")) chat.set("logprobs", true).set("top_logprobs", *n);
  if (const Json* tools = body.find("tools")) {
    PARLANCE_API_TRY(const Json list, chat_tools(*tools));
    chat.set("tools", list);
  }
  if (const Json* choice = body.find("tool_choice")) {
    if (choice->is_object()) {
      PARLANCE_API_TRY(const Json chosen, chat_tool(*choice, "tool_choice"));
      chat.set("tool_choice", chosen);
    } else {
      chat.set("tool_choice", *choice);
    }
  }
  if (const Json* format = text.find("format")) {
    PARLANCE_API_TRY(const Json form, chat_format(*format));
    chat.set("response_format", form);
  }
  PARLANCE_API_TRY(const Json messages, messages_of(body, items));
  return chat.set("messages", messages);
}

void cut_oldest(std::vector<Json>& items, size_t n) {
  std::set<std::string> calls;
  for (size_t i = 0; i < n; ++i) {
    const Body item(items[i]);
    if (item.text("type") == "function_call") calls.insert(item.text("call_id").value_or(""));
  }
  items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(n));
  std::erase_if(items, [&](const Json& json) {
    const Body item(json);
    return item.text("type") == "function_call_output" && calls.contains(item.text("call_id").value_or(""));
  });
}

ApiError in_names_of_responses(ApiError error) {
  constexpr RenamedField kNames[] = {{"messages", "input"},
                                     {"max_tokens", "max_output_tokens"},
                                     {"reasoning_effort", "reasoning.effort"},
                                     {"response_format.json_schema.schema", "text.format.schema"},
                                     {"response_format.json_schema", "text.format"},
                                     {"response_format", "text.format"}};
  return in_words_of_request(std::move(error), kNames);
}

}  // namespace parlance
