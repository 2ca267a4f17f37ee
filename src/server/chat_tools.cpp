#include "server/chat_tools.h"

#include <algorithm>
#include <set>

#include "assistant/conversation.h"
#include "base/ascii.h"
#include "grammar/tool_calls.h"
#include "server/answer_format.h"

namespace parlance {

namespace {

constexpr const char* kProbeTools =
    R"([{"type":"function","function":{"name":"probe_of_tools","description":"A probe.","parameters":)"
    R"({"type":"object","properties":{"text":{"type":"string"}}}}}])";

constexpr size_t kMostToolBytes = size_t{256} << 10;  // of all together
constexpr size_t kMostDescriptionBytes = size_t{4} << 10;
constexpr size_t kMostToolNameBytes = 64;
constexpr const char* kAnyArguments = R"({"type":"object","additionalProperties":true})";

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostToolNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return ascii::is_letter(c) || ascii::is_digit(c) || c == '_' || c == '-';
         });
}

// Each tool with those of its parameters that are texts.
std::vector<std::string> text_parameters(const Body& function) {
  std::vector<std::string> names;
  const Json* schema = function.find("parameters");
  const auto properties = schema ? schema->member("properties") : std::nullopt;
  if (!properties) return names;
  for (const auto& [name, property] :
       properties->members().value_or(std::vector<std::pair<std::string, Json>>())) {
    const auto type = property.member("type");
    if (type && type->text() == "string") names.push_back(name);
  }
  return names;
}

ApiResult<OfferedTool> read_tool(const Json& tool, const std::string& where) {
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
  const Json* given = function.find("parameters");
  if (given && !given->is_object()) {
    return refuse("invalid_type", where + ".function.parameters", "{}.function.parameters must be a schema",
                  where);
  }
  Json parameters = given ? *given : Json::object();
  if (!parameters.member("type")) parameters.set("type", "object");
  if (parameters.members()->size() == 1) parameters.set("additionalProperties", false);  // it has none
  return OfferedTool{.name = *name,
                     .parameters = parameters.line(),
                     .is_strict = function.boolean("strict"),
                     .where = where,
                     .texts = text_parameters(function)};
}

void keep_named(std::vector<OfferedTool>& offered, const std::vector<std::string>& names) {
  std::erase_if(offered, [&](const OfferedTool& tool) {
    return std::find(names.begin(), names.end(), tool.name) == names.end();
  });
}

tl::unexpected<ApiError> wrong_choice(const std::string& why) {
  return refuse("invalid_value", "tool_choice", "tool_choice: {}", why);
}

ApiResult<ToolChoice> choice_of_word(const std::string& word, const std::vector<OfferedTool>& offered) {
  if (word == "none") return ToolChoice::none;
  if (word == "auto") return ToolChoice::free;
  if (word != "required") {
    return wrong_choice("it must be none, auto, required or a tool, got " + Json(word).line());
  }
  if (offered.empty()) return wrong_choice("there are no tools; give some");
  return ToolChoice::required;
}

// {"mode": "auto", "tools": [{"type": "function", "function": {"name": …}}]}
ApiResult<ToolChoice> read_allowed_tools(const Body& allowed, std::vector<OfferedTool>& offered) {
  const auto elements = allowed.find("tools") ? allowed.find("tools")->elements() : std::nullopt;
  if (!elements || elements->empty()) return wrong_choice("allowed_tools needs a list of tools");
  std::vector<std::string> names;
  for (const Json& one : *elements) {
    names.push_back(Body(one).object("function").text("name").value_or(""));
    const bool is_there = std::any_of(offered.begin(), offered.end(),
                                      [&](const OfferedTool& tool) { return tool.name == names.back(); });
    if (!is_there) return wrong_choice("there is no tool " + Json(names.back()).line());
  }
  keep_named(offered, names);
  return choice_of_word(allowed.text("mode").value_or("auto"), offered);
}

CallNotation notation_of(ToolFamily family) {
  switch (family) {
    case ToolFamily::qwen_xml:
      return CallNotation::marked_xml;
    case ToolFamily::llama_json:
      return CallNotation::bare_json;
    case ToolFamily::hermes:
    case ToolFamily::none:
      break;
  }
  return CallNotation::marked_json;
}

// What all of a grammar of calls depends on, as a text.
std::string text_of(const ToolCalls& calls) {
  std::string text = fmt::format("{}{}{}{}", static_cast<int>(calls.notation), calls.is_one ? "1" : "n",
                                 calls.is_required ? "!" : "?", calls.has_mark_tokens ? "t" : "b");
  for (const CallableTool& tool : calls.tools) text += "\n" + tool.name + " " + tool.parameters;
  return text;
}

// Whether a tool's schema can be kept; where it need not be, it is given up.
ApiResult<void> check_schema(OfferedTool& tool, std::vector<std::string>& notes) {
  const auto grammar = Grammar::from_json_schema(tool.parameters);
  if (grammar) return {};
  const std::string where = tool.where + ".function.parameters";
  if (tool.is_strict) return tl::unexpected(grammar_error(grammar.error(), where, /*is_schema=*/true));
  tool.parameters = kAnyArguments;
  notes.push_back("the schema of " + tool.name + " is not kept");
  return {};
}

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

ApiResult<std::vector<OfferedTool>> read_tools(const Json& tools) {
  const std::vector<Json> elements = *tools.elements();
  std::vector<OfferedTool> offered;
  std::set<std::string> names;
  for (size_t i = 0; i < elements.size(); ++i) {
    PARLANCE_API_TRY(OfferedTool tool, read_tool(elements[i], fmt::format("tools[{}]", i)));
    if (!names.insert(tool.name).second) {
      return refuse("invalid_value", tool.where + ".function.name", "two tools are called {}; rename one",
                    tool.name);
    }
    offered.push_back(std::move(tool));
  }
  if (const size_t n_bytes = tools.line().size(); n_bytes > kMostToolBytes) {
    return refuse("invalid_value", "tools", "the tools have {} bytes, and may have {}", n_bytes,
                  kMostToolBytes);
  }
  return offered;
}

ApiResult<ToolChoice> read_tool_choice(const Body& body, std::vector<OfferedTool>& offered) {
  const Json* choice = body.find("tool_choice");
  if (!choice) return offered.empty() ? ToolChoice::none : ToolChoice::free;
  if (const auto word = choice->text()) return choice_of_word(*word, offered);
  const Body given(*choice);
  if (given.text("type") == "allowed_tools")
    return read_allowed_tools(given.object("allowed_tools"), offered);
  if (given.text("type") != "function")
    return wrong_choice("it must be none, auto, required or one function");
  const std::string name = given.object("function").text("name").value_or("");
  keep_named(offered, {name});
  if (offered.empty()) return wrong_choice("there is no tool " + Json(name).line());
  return ToolChoice::named;
}

ApiResult<std::shared_ptr<TokenMasks>> read_call_grammar(GrammarCache& grammars, const TextModel& model,
                                                         std::vector<OfferedTool> offered,
                                                         const CallTerms& terms,
                                                         std::vector<std::string>& notes) {
  const bool is_forced = terms.choice == ToolChoice::required || terms.choice == ToolChoice::named;
  const bool has_strict =
      std::any_of(offered.begin(), offered.end(), [](const OfferedTool& tool) { return tool.is_strict; });
  const bool is_needed = is_forced || has_strict;
  if (!is_needed && !terms.holds_free) return nullptr;
  // A call without a mark is a text that begins like one.
  if (offered.empty() && terms.family == ToolFamily::llama_json) return nullptr;
  const Tokenizer& tokenizer = model.tokenizer();
  const bool is_one = terms.is_one || terms.choice == ToolChoice::named;
  ToolCalls calls{
      .notation = notation_of(terms.family), .tools = {}, .is_one = is_one, .is_required = is_forced};
  calls.has_mark_tokens = tokenizer.find("<tool_call>") && tokenizer.find("</tool_call>");
  const auto compiled = [&] {
    calls.tools.clear();
    for (const OfferedTool& tool : offered) calls.tools.push_back({tool.name, tool.parameters});
    return grammars.get("calls", text_of(calls), model, [&] { return grammar_of(calls); });
  };
  auto masks = compiled();
  if (!masks) {
    for (OfferedTool& tool : offered) PARLANCE_API_CHECK(check_schema(tool, notes));
    masks = compiled();
  }
  if (masks) return *std::move(masks);
  if (is_needed) return tl::unexpected(grammar_error(masks.error(), "tools", /*is_schema=*/false));
  notes.push_back("calls are not held to the tools, which are too many");
  return nullptr;
}

}  // namespace parlance
