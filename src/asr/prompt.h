// The text around the audio: what the recogniser is told, and where its answer begins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

struct AsrPrompt {
  std::vector<Token> head;  // up to the audio
  std::vector<Token> tail;  // from the end of the audio to the answer
  std::string language;     // that was forced, or empty
};

// `context` is free text: names, terms, the topic. `language` is empty (the model finds out) or a name or
// code of languages.h. Errors: an unknown language, a context that is too long, a vocabulary without the
// special tokens.
Result<AsrPrompt> make_asr_prompt(const Tokenizer& tokenizer, std::string_view context,
                                  std::string_view language);

}  // namespace parlance
