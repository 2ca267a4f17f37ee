// Texts, or their tokens, as a request gives them to be computed.
#pragma once

#include <string_view>
#include <vector>

#include "engine/text_model.h"
#include "json/json.h"
#include "server/api_error.h"

namespace parlance {

struct PromptField {
  const char* name;  // in errors
  size_t n_most;     // of several
  const TextModel& model;
  std::vector<Token> (*tokens_of)(const TextModel& model, std::string_view text);
};

// One text, its tokens, or several of these. Errors: of another kind, empty, too many, what is no token.
ApiResult<std::vector<std::vector<Token>>> read_prompts(const Json& json, const PromptField& field);

}  // namespace parlance
