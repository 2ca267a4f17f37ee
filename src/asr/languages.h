// The languages that the speech recogniser was trained to name, and how it spells them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace parlance {

struct SpeechLanguage {
  std::string_view name;  // as the model writes it and expects it in a prompt
  std::string_view code;  // ISO 639-1, or 639-3 where that has none
};

std::span<const SpeechLanguage> speech_languages();

// The language of that name or code, in any case and with white space around it. The error lists what there
// is and names the one that a mistyped word most likely meant.
Result<SpeechLanguage> find_speech_language(std::string_view name_or_code);

// A name as the model spells names: the first letter upper case and the rest lower, without white space
// around it. Unknown names too, as the model may write any. The text is valid UTF-8.
std::string normalise_language(std::string_view name);

// What several pieces of one recording were said to be in: names joined by commas, without white space around
// them and without those that are empty or equal to the one before.
std::string merge_languages(std::span<const std::string> languages);

}  // namespace parlance
