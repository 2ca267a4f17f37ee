#include "voice/heard_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace parlance {

namespace {

struct Block {
  char32_t first, last;
};

// Of scripts that are written without spaces between words.
constexpr Block kUnspaced[] = {
    {0x0E00, 0x0EFF},    // Thai, Lao
    {0x1000, 0x109F},    // Myanmar
    {0x1780, 0x17FF},    // Khmer
    {0x19E0, 0x19FF},    // Khmer symbols
    {0x2E80, 0x2FDF},    // radicals
    {0x3005, 0x3007},    // ideographic marks and zero
    {0x3021, 0x3029},    // numerals
    {0x3038, 0x303B},    // numerals
    {0x3041, 0x30FF},    // Hiragana, Katakana
    {0x31F0, 0x31FF},    // Katakana extensions
    {0x3400, 0x4DBF},    // ideographs
    {0x4E00, 0x9FFF},    // ideographs
    {0xA9E0, 0xA9FF},    // Myanmar extensions
    {0xAA60, 0xAA7F},    // Myanmar extensions
    {0xF900, 0xFAFF},    // compatibility ideographs
    {0xFF66, 0xFF9D},    // narrow Katakana
    {0x1AFF0, 0x1B16F},  // more Kana
    {0x20000, 0x3FFFF},  // ideographs
};

bool is_word_alone(char32_t c) {
  const auto* block = std::ranges::lower_bound(kUnspaced, c, {}, &Block::last);
  return block != std::end(kUnspaced) && c >= block->first;
}

struct Word {
  size_t end;           // bytes of the text up to its last
  int64_t code_points;  // of this word and those before, without white space
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  int64_t n = 0;
  bool is_open = false;  // whether the next code point goes on with the last word
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (is_white_space(c)) {
      is_open = false;
      continue;
    }
    ++n;
    const bool is_alone = is_word_alone(c);
    if (!is_open || is_alone) words.emplace_back();
    words.back() = {at, n};
    is_open = !is_alone;
  }
  return words;
}

}  // namespace

std::string heard_text(std::span<const PlayedPhrase> phrases, int64_t n_heard) {
  std::string heard;
  for (const PlayedPhrase& phrase : phrases) {
    if (phrase.begin >= n_heard) break;
    if (phrase.end <= n_heard) {
      heard += phrase.text;
      continue;
    }
    const std::vector<Word> words = words_of(phrase.text);
    size_t n_bytes = 0;
    for (const Word& word : words) {
      const int64_t n_samples = (phrase.end - phrase.begin) * word.code_points / words.back().code_points;
      if (phrase.begin + n_samples > n_heard) break;
      n_bytes = word.end;
    }
    heard.append(phrase.text, 0, n_bytes);
  }
  while (!heard.empty()) {
    size_t at = heard.size();
    if (!is_white_space(previous_code_point(heard, at))) break;
    heard.resize(at);
  }
  return heard;
}

}  // namespace parlance
