#include "asr/alignment_words.h"

#include <cstddef>

#include "text/unicode.h"

namespace parlance {

namespace {

struct Range {
  char32_t first, last;
};

// The blocks that the aligner was trained with: the unified ideographs with their extensions A to E, and the
// compatibility ideographs.
constexpr Range kIdeographs[] = {
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
    {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf},
};

enum class Script { other, ideograph, hiragana, katakana };

Script script_of(char32_t c) {
  for (const Range& block : kIdeographs) {
    if (block.first <= c && c <= block.last) return Script::ideograph;
  }
  if (c >= 0x3041 && c <= 0x309f) return Script::hiragana;
  if ((c >= 0x30a0 && c <= 0x30ff) || (c >= 0x31f0 && c <= 0x31ff)) return Script::katakana;
  return Script::other;
}

bool is_kept(char32_t c) {
  return c == U'\'' || is_letter(c) || is_number(c);
}

}  // namespace

std::vector<std::string> alignment_words(std::string_view text, std::string_view language) {
  const std::string valid = sanitise_utf8(text);
  const bool separates_scripts = language == "Japanese";
  std::vector<std::string> words;
  std::string word;
  Script last = Script::other;  // of the word so far
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (size_t at = 0; at < valid.size();) {
    const char32_t c = next_code_point(valid, at);
    if (is_space(c)) end_word();
    if (!is_kept(c)) continue;
    const Script script = script_of(c);
    const bool is_change = separates_scripts && script != last;
    if (script == Script::ideograph || last == Script::ideograph || is_change) end_word();
    append_utf8(word, c);
    last = script;
  }
  end_word();
  return words;
}

}  // namespace parlance
