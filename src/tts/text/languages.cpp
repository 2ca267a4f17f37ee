#include "tts/text/languages.h"

#include <algorithm>

#include "base/ascii.h"
#include "text/unicode.h"

namespace parlance {

namespace {

constexpr TtsLanguage kLanguages[] = {
#include "tts/text/language_table.inc"
};

bool equals_lower_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, {}, ascii::to_lower);
}

}  // namespace

std::span<const TtsLanguage> tts_languages() {
  return kLanguages;
}

bool is_no_language(std::string_view language) {
  return language.empty() || equals_lower_case(language, "none");
}

std::string_view find_tts_language(std::string_view language) {
  if (is_no_language(language)) return {};
  for (const TtsLanguage& known : kLanguages) {
    if (language == known.code) return known.code;
  }
  for (const TtsLanguage& known : kLanguages) {
    if (equals_lower_case(language, known.name)) return known.code;
  }
  return {};
}

}  // namespace parlance
