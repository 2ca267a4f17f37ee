#include "server/prompts.h"

namespace parlance {

namespace {

ApiResult<std::vector<Token>> tokens_from(const std::vector<Json>& elements, const PromptField& field) {
  const int32_t n_vocab = field.model.tokenizer().n_vocab();
  std::vector<Token> tokens;
  for (const Json& one : elements) {
    const auto token = one.integer();
    if (!token) {
      return refuse("invalid_type", field.name, "{}: a list of tokens has whole numbers only", field.name);
    }
    if (*token < 0 || *token >= n_vocab) {
      return refuse("invalid_value", field.name, "{}: {} is no token of this model", field.name, *token);
    }
    tokens.push_back(static_cast<Token>(*token));
  }
  return tokens;
}

// One of them: a text or its tokens.
ApiResult<std::vector<Token>> prompt_from(const Json& json, const PromptField& field) {
  std::vector<Token> tokens;
  bool is_empty = false;
  if (const auto text = json.text()) {
    is_empty = text->empty();
    tokens = field.tokens_of(field.model, *text);
  } else if (const auto elements = json.elements()) {
    PARLANCE_API_TRY(tokens, tokens_from(*elements, field));
  } else {
    return refuse("invalid_type", field.name, "{} must be a string, an array of tokens, or an array of these",
                  field.name);
  }
  if (is_empty || tokens.empty()) {
    return refuse("invalid_value", field.name, "{} has an empty text; give it some words", field.name);
  }
  return tokens;
}

}  // namespace

ApiResult<std::vector<std::vector<Token>>> read_prompts(const Json& json, const PromptField& field) {
  const auto elements = json.elements();
  const bool is_one = !elements || (!elements->empty() && elements->front().number().has_value());
  std::vector<std::vector<Token>> prompts;
  if (is_one) {
    PARLANCE_API_TRY(prompts.emplace_back(), prompt_from(json, field));
    return prompts;
  }
  if (elements->size() > field.n_most) {
    return refuse("array_above_max_length", field.name, "{} may have {} elements, got {}", field.name,
                  field.n_most, elements->size());
  }
  for (const Json& one : *elements) {
    PARLANCE_API_TRY(prompts.emplace_back(), prompt_from(one, field));
  }
  return prompts;
}

}  // namespace parlance
