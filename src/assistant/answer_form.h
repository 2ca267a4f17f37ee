// What an answer has to look like, if anything was said of that.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/parameter.h"
#include "base/result.h"
#include "engine/request.h"
#include "engine/text_model.h"
#include "grammar/grammar.h"

namespace parlance {

// One of three notations; none: any text.
struct AnswerForm {
  std::optional<std::string> json_schema, grammar, regex;

  bool is_any() const { return !json_schema && !grammar && !regex; }
};

// The form as a grammar; null for any text. Errors: as of Grammar's functions, and invalid_argument for more
// than one form.
Result<std::shared_ptr<const Grammar>> grammar_of(const AnswerForm& form);

// Has answers of the model follow a grammar; behind their thoughts, where they begin with some. Errors: the
// vocabulary has no token that the grammar names, or none that ends thoughts.
Result<void> follow(std::shared_ptr<const Grammar> grammar, const TextModel& text, bool has_thinking,
                    GenerateOptions& options);
// The same with a grammar over the model's vocabulary; null: any text.
Result<void> follow(std::shared_ptr<TokenMasks> masks, const TextModel& text, bool has_thinking,
                    GenerateOptions& options);

}  // namespace parlance
