#include "tts/text/syllables.h"

#include <algorithm>

#include "text/unicode.h"
#include "tts/text/duration.h"

namespace parlance {

namespace {

constexpr std::u32string_view kVowels =
    U"aeiouyAEIOUYàáâãäåæèéêëìíîïòóôõöøùúûüýÿœАЕИОУЫЭЮЯЁаеиоуыэюяёαεηιουωάέήίόύώ";
constexpr float kSyllableWeight = 2;  // from here on char_weight() says that a letter is a syllable
constexpr int kDigitSyllables = 2;

}  // namespace

int count_syllables(std::string_view text) {
  int n = 0;
  bool is_in_vowels = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    const bool is_vowel = kVowels.find(c) != kVowels.npos;
    if (is_digit(c)) {
      n += kDigitSyllables;
    } else if (is_vowel ? !is_in_vowels : is_letter(c) && char_weight(c) >= kSyllableWeight) {
      ++n;
    }
    is_in_vowels = is_vowel;
  }
  return n;
}

}  // namespace parlance
