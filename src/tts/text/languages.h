// The languages that the speech model was trained with, and the codes by which its prompt names them.
#pragma once

#include <span>
#include <string_view>

namespace parlance {

struct TtsLanguage {
  std::string_view name;  // lower case
  std::string_view code;
};

std::span<const TtsLanguage> tts_languages();

// Whether the language is left to the model: nothing is given, or "none" in any case.
bool is_no_language(std::string_view language);

// The code for a code, exactly as it is spelled, or for a name in any case of its ASCII letters; empty for
// everything else, is_no_language() among it. The view is of the table.
std::string_view find_tts_language(std::string_view language);

}  // namespace parlance
