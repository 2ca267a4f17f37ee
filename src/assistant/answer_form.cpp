#include "assistant/answer_form.h"

namespace parlance {

namespace {

constexpr std::string_view kEndOfThoughts = "</think>";

}  // namespace

Result<std::shared_ptr<const Grammar>> grammar_of(const AnswerForm& form) {
  if (form.json_schema.has_value() + form.grammar.has_value() + form.regex.has_value() > 1) {
    return fail(ErrorCode::invalid_argument, "an answer has one form; give one of {}, {} and {}",
                Parameter::json_schema, Parameter::grammar, Parameter::regex);
  }
  if (form.json_schema) return Grammar::from_json_schema(*form.json_schema);
  if (form.grammar) return Grammar::from_gbnf(*form.grammar);
  if (form.regex) return Grammar::from_regex(*form.regex);
  return nullptr;
}

Result<void> follow(std::shared_ptr<const Grammar> grammar, const TextModel& text, bool has_thinking,
                    GenerateOptions& options) {
  std::shared_ptr<TokenMasks> masks;
  if (grammar) {
    PARLANCE_TRY(masks, TokenMasks::make(std::move(grammar), text.token_trie()));
  }
  return follow(std::move(masks), text, has_thinking, options);
}

Result<void> follow(std::shared_ptr<TokenMasks> masks, const TextModel& text, bool has_thinking,
                    GenerateOptions& options) {
  options.grammar = std::move(masks);
  options.grammar_begins_after.reset();
  if (!options.grammar || !has_thinking) return {};
  options.grammar_begins_after = text.tokenizer().find(kEndOfThoughts);
  if (options.grammar_begins_after) return {};
  return fail(ErrorCode::unsupported,
              "{}: the model has no token {}, so that its thoughts cannot be told from an answer in a form; "
              "leave thinking out",
              text.file().name(), kEndOfThoughts);
}

}  // namespace parlance
