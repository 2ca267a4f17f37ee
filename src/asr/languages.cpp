#include "asr/languages.h"

#include <cstddef>
#include <vector>

#include "base/ascii.h"
#include "text/letter_case.h"
#include "text/nearest.h"
#include "text/unicode.h"

namespace parlance {

namespace {

constexpr SpeechLanguage kLanguages[] = {
    {"Chinese", "zh"}, {"English", "en"}, {"Cantonese", "yue"}, {"Arabic", "ar"},     {"German", "de"},
    {"French", "fr"},  {"Spanish", "es"}, {"Portuguese", "pt"}, {"Indonesian", "id"}, {"Italian", "it"},
    {"Korean", "ko"},  {"Russian", "ru"}, {"Thai", "th"},       {"Vietnamese", "vi"}, {"Japanese", "ja"},
    {"Turkish", "tr"}, {"Hindi", "hi"},   {"Malay", "ms"},      {"Dutch", "nl"},      {"Swedish", "sv"},
    {"Danish", "da"},  {"Finnish", "fi"}, {"Polish", "pl"},     {"Czech", "cs"},      {"Filipino", "fil"},
    {"Persian", "fa"}, {"Greek", "el"},   {"Romanian", "ro"},   {"Hungarian", "hu"},  {"Macedonian", "mk"},
};

std::string lower_and_stripped(std::string_view text) {
  return ascii::lower(strip(text));
}

// " (did you mean …?)", or nothing when no name is near.
std::string suggestion(std::string_view word) {
  std::vector<std::string> names;
  for (const SpeechLanguage& language : kLanguages) names.push_back(ascii::lower(language.name));
  const std::string name = nearest(word, names);
  return name.empty() ? std::string() : fmt::format(" (did you mean {}?)", normalise_language(name));
}

std::string all_names() {
  std::string names;
  for (const SpeechLanguage& language : kLanguages) {
    if (!names.empty()) names += ", ";
    names += language.name;
  }
  return names;
}

}  // namespace

std::span<const SpeechLanguage> speech_languages() {
  return kLanguages;
}

Result<SpeechLanguage> find_speech_language(std::string_view name_or_code) {
  const std::string word = lower_and_stripped(name_or_code);
  for (const SpeechLanguage& language : kLanguages) {
    if (word == language.code || word == lower_and_stripped(language.name)) return language;
  }
  return fail(ErrorCode::invalid_argument, "language \"{}\" is not supported{}; give one of {}",
              sanitise_utf8(name_or_code.substr(0, 64)), suggestion(word), all_names());
}

std::string normalise_language(std::string_view name) {
  name = strip(name);
  if (name.empty()) return {};
  const size_t first_end = offset_of_code_point(name, 1);
  return upper(name.substr(0, first_end)) + lower(name.substr(first_end));
}

std::string merge_languages(std::span<const std::string> languages) {
  std::string merged;
  std::string_view previous;
  for (const std::string& spelled : languages) {
    const std::string_view language = strip(spelled);
    if (language.empty() || language == previous) continue;
    if (!merged.empty()) merged += ',';
    merged += language;
    previous = language;
  }
  return merged;
}

}  // namespace parlance
