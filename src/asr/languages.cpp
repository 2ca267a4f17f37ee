#include "asr/languages.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "jinja/unicode.h"

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

char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string lower_and_stripped(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  std::string word(text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin));
  std::transform(word.begin(), word.end(), word.begin(), ascii_lower);
  return word;
}

// Bytes to insert, take out or replace to make one word of the other, the case of ASCII letters aside.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (ascii_lower(a[i]) != ascii_lower(b[j]));
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

// " (did you mean …?)", or nothing when no name is near.
std::string suggestion(std::string_view word) {
  constexpr size_t kLongestWord = 32;  // no name is half as long
  if (word.empty() || word.size() > kLongestWord) return {};
  const SpeechLanguage* best = nullptr;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const SpeechLanguage& language : kLanguages) {
    const size_t distance = edit_distance(word, language.name);
    if (distance >= best_distance) continue;
    best = &language;
    best_distance = distance;
  }
  return best ? fmt::format(" (did you mean {}?)", best->name) : std::string();
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
              jinja::sanitise_utf8(name_or_code.substr(0, 64)), suggestion(word), all_names());
}

std::string normalise_language(std::string_view name) {
  name = jinja::strip(name);
  if (name.empty()) return {};
  const size_t first_end = jinja::offset_of_character(name, 1);
  return jinja::upper(name.substr(0, first_end)) + jinja::lower(name.substr(first_end));
}

std::string merge_languages(std::span<const std::string> languages) {
  std::string merged;
  std::string_view previous;
  for (const std::string& language : languages) {
    if (language.empty() || language == previous) continue;
    if (!merged.empty()) merged += ',';
    merged += language;
    previous = language;
  }
  return merged;
}

}  // namespace parlance
