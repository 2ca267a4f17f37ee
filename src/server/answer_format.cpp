#include "server/answer_format.h"

#include <array>
#include <string_view>

#include "base/parameter.h"

namespace parlance {

namespace {

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

using AnswerMasks = ApiResult<std::shared_ptr<TokenMasks>>;
using CompileText = Result<std::shared_ptr<const Grammar>> (*)(std::string_view text);

// Compiles what one request asks for, where that was not asked for before.
class AnswerFormats {
 public:
  AnswerFormats(GrammarCache& grammars, const TextModel& model) : grammars_(grammars), model_(model) {}

  AnswerMasks from_schema(const Json& schema, const char* param) {
    return compiled("schema", schema.line(), Grammar::from_json_schema, param);
  }
  AnswerMasks from_gbnf(const std::string& text, const char* param) {
    return compiled("gbnf", text, Grammar::from_gbnf, param);
  }
  AnswerMasks from_regex(const std::string& text, const char* param) {
    return compiled("regex", text, Grammar::from_regex, param);
  }
  AnswerMasks from_response_format(const Body& format);
  AnswerMasks from_choice(const Json& choice);
  AnswerMasks from_structured(const Body& outputs);

 private:
  AnswerMasks compiled(const char* notation, const std::string& text, CompileText compile,
                       const char* param) {
    auto masks = grammars_.get(notation, text, model_, [&] { return compile(text); });
    if (masks) return *std::move(masks);
    return tl::unexpected(grammar_error(masks.error(), param, compile == Grammar::from_json_schema));
  }

  GrammarCache& grammars_;
  const TextModel& model_;
};

AnswerMasks AnswerFormats::from_response_format(const Body& format) {
  const auto type = format.text("type");
  if (!type)
    return refuse("missing_required_parameter", "response_format.type", "response_format needs a type");
  if (*type == "text") return nullptr;
  if (*type == "json_object") {
    if (const Json* schema = format.find("schema")) return from_schema(*schema, "response_format.schema");
    return compiled("schema", std::string(kAnyObject), Grammar::from_json_schema, "response_format");
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
AnswerMasks AnswerFormats::from_choice(const Json& choice) {
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
  return from_gbnf(root, where);
}

AnswerMasks AnswerFormats::from_structured(const Body& outputs) {
  std::shared_ptr<TokenMasks> masks;
  int n = 0;
  for (const auto& [name, value] : outputs.members()) {
    if (name == "json") {
      // A schema, or the text of one.
      const auto parsed = value.text() ? Json::parse(*value.text()) : Result<Json>(value);
      if (!parsed)
        return refuse("invalid_value", "structured_outputs.json", "structured_outputs.json is no JSON");
      PARLANCE_API_TRY(masks, from_schema(*parsed, "structured_outputs.json"));
    } else if (name == "choice") {
      PARLANCE_API_TRY(masks, from_choice(value));
    } else if (name == "regex" || name == "grammar") {
      const auto text = value.text();
      if (!text)
        return refuse("invalid_type", "structured_outputs." + name, "structured_outputs.{} must be a string",
                      name);
      PARLANCE_API_TRY(masks, name == "regex" ? from_regex(*text, "structured_outputs.regex")
                                              : from_gbnf(*text, "structured_outputs.grammar"));
    } else {
      continue;
    }
    ++n;
  }
  if (n == 1) return masks;
  return refuse("invalid_value", "structured_outputs",
                "structured_outputs needs one of json, regex, choice and grammar");
}

}  // namespace

ApiError grammar_error(const Error& error, const std::string& param, bool is_schema) {
  ApiError refusal = api_error(error);
  if (refusal.status == 400) {
    refusal.code = error.code == ErrorCode::too_complex                ? "grammar_too_complex"
                   : error.code == ErrorCode::unsupported && is_schema ? "unsupported_schema"
                                                                       : "grammar_invalid";
  }
  const auto place = is_schema ? place_in_schema(error) : std::nullopt;
  refusal.param = place ? *place : param;
  return refusal;
}

AnswerMasks read_answer_format(GrammarCache& grammars, const TextModel& model, const Body& body,
                               bool is_call_forced) {
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
  if (is_call_forced) {
    return refuse("invalid_value", chosen, "{} and a tool that must be called exclude each other; give one",
                  chosen);
  }
  const std::string_view form = chosen;
  AnswerFormats formats(grammars, model);
  if (form == "response_format") return formats.from_response_format(body.object("response_format"));
  if (form == "json_schema") return formats.from_schema(*body.find("json_schema"), "json_schema");
  if (form == "structured_outputs") return formats.from_structured(body.object("structured_outputs"));
  return formats.from_gbnf(*body.text("grammar"), "grammar");
}

}  // namespace parlance
