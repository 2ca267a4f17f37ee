#include "server/answer_format.h"

#include <array>
#include <string_view>

#include "base/parameter.h"

namespace parlance {

namespace {

using GrammarResult = Result<std::shared_ptr<const Grammar>>;

constexpr std::string_view kAnyObject = R"({"type":"object","additionalProperties":true})";

// The place in a schema that an error names, as the value of its parameter's mark.
std::optional<std::string> place_in_schema(const Error& error) {
  std::optional<std::string> place;
  replace_marks(error.message, [&](Parameter parameter, std::string_view value) {
    if (parameter == Parameter::json_schema && !place && !value.empty()) place = std::string(value);
    return std::string(value);
  });
  return place;
}

ApiResult<std::shared_ptr<const Grammar>> compiled(GrammarResult grammar, const char* param, bool is_schema) {
  if (grammar) return *std::move(grammar);
  ApiError error = api_error(grammar.error());
  if (error.status == 400) {
    error.code = grammar.error().code == ErrorCode::too_complex                ? "grammar_too_complex"
                 : grammar.error().code == ErrorCode::unsupported && is_schema ? "unsupported_schema"
                                                                               : "grammar_invalid";
  }
  const auto place = is_schema ? place_in_schema(grammar.error()) : std::nullopt;
  error.param = place ? *place : std::string(param);
  return tl::unexpected(std::move(error));
}

ApiResult<std::shared_ptr<const Grammar>> from_schema(const Json& schema, const char* param) {
  return compiled(Grammar::from_json_schema(schema.line()), param, true);
}

ApiResult<std::shared_ptr<const Grammar>> from_response_format(const Body& format) {
  const auto type = format.text("type");
  if (!type)
    return refuse("missing_required_parameter", "response_format.type", "response_format needs a type");
  if (*type == "text") return nullptr;
  if (*type == "json_object") {
    if (const Json* schema = format.find("schema")) return from_schema(*schema, "response_format.schema");
    return compiled(Grammar::from_json_schema(kAnyObject), "response_format", true);
  }
  if (*type == "json_schema") {
    const Body described = format.object("json_schema");
    const Json* schema = described.find("schema");
    if (!schema) {
      return refuse("missing_required_parameter", "response_format.json_schema.schema",
                    "response_format.json_schema needs a schema");
    }
    return from_schema(*schema, "response_format.json_schema.schema");
  }
  return refuse("invalid_value", "response_format.type",
                "response_format.type must be text, json_object or json_schema, got {}", Json(*type).line());
}

// One of several texts, each as a rule of a grammar.
ApiResult<std::shared_ptr<const Grammar>> from_choice(const Json& choice) {
  const auto elements = choice.elements();
  const char* where = "structured_outputs.choice";
  if (!elements || elements->empty())
    return refuse("invalid_value", where, "{} must be an array of texts", where);
  std::string root;
  for (const Json& one : *elements) {
    const auto text = one.text();
    if (!text || text->empty()) return refuse("invalid_value", where, "{} must be an array of texts", where);
    root += root.empty() ? "root ::= \"" : " | \"";
    for (const char c : *text) root += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    root += '"';
  }
  return compiled(Grammar::from_gbnf(root), where, false);
}

ApiResult<std::shared_ptr<const Grammar>> from_structured(const Body& outputs) {
  std::shared_ptr<const Grammar> grammar;
  int n = 0;
  for (const auto& [name, value] : outputs.members()) {
    if (name == "json") {
      // A schema, or the text of one.
      const auto parsed = value.text() ? Json::parse(*value.text()) : Result<Json>(value);
      if (!parsed)
        return refuse("invalid_value", "structured_outputs.json", "structured_outputs.json is no JSON");
      PARLANCE_API_TRY(grammar, from_schema(*parsed, "structured_outputs.json"));
    } else if (name == "choice") {
      PARLANCE_API_TRY(grammar, from_choice(value));
    } else if (name == "regex" || name == "grammar") {
      const auto text = value.text();
      if (!text)
        return refuse("invalid_type", "structured_outputs." + name, "structured_outputs.{} must be a string",
                      name);
      PARLANCE_API_TRY(
          grammar,
          compiled(name == "regex" ? Grammar::from_regex(*text) : Grammar::from_gbnf(*text),
                   name == "regex" ? "structured_outputs.regex" : "structured_outputs.grammar", false));
    } else {
      continue;
    }
    ++n;
  }
  if (n == 1) return grammar;
  return refuse("invalid_value", "structured_outputs",
                "structured_outputs needs one of json, regex, choice and grammar");
}

}  // namespace

ApiResult<std::shared_ptr<const Grammar>> read_answer_format(const Body& body,
                                                             const std::string& tool_choice) {
  constexpr std::array kForms = {"response_format", "json_schema", "structured_outputs", "grammar"};
  const char* chosen = nullptr;
  for (const char* name : kForms) {
    const bool is_text =
        std::string_view(name) == "response_format" && body.object(name).text("type") == "text";
    if (!body.has(name) || is_text) continue;
    if (chosen) return refuse("invalid_value", name, "{} and {} exclude each other; give one", name, chosen);
    chosen = name;
  }
  if (!chosen) return nullptr;
  if (tool_choice != "none" && tool_choice != "auto") {
    return refuse("invalid_value", chosen, "{} and a tool that must be called exclude each other; give one",
                  chosen);
  }
  const std::string_view form = chosen;
  if (form == "response_format") return from_response_format(body.object("response_format"));
  if (form == "json_schema") return from_schema(*body.find("json_schema"), "json_schema");
  if (form == "structured_outputs") return from_structured(body.object("structured_outputs"));
  return compiled(Grammar::from_gbnf(*body.text("grammar")), "grammar", false);
}

}  // namespace parlance
