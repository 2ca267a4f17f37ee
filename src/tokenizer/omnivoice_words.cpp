#include <algorithm>

#include "tokenizer/pre_tokenizer.h"

namespace parlance {

namespace {

// Classes of omnivoice.cpp; every character is in one of them, or in none when it is punctuation.
enum class OmniVoiceClass : uint8_t { letter, digit, space, newline, other };

struct OmniVoiceChar {
  char32_t value = 0;
  uint32_t n_bytes = 0;  // 0: end of the text
  OmniVoiceClass kind = OmniVoiceClass::other;

  bool is(OmniVoiceClass wanted) const { return n_bytes != 0 && kind == wanted; }
};

struct LetterRange {
  char32_t first, last;
};
constexpr LetterRange kLetterRanges[] = {
    {'A', 'Z'},       {'a', 'z'},       {0xC0, 0xD6},        {0xD8, 0xF6},
    {0xF8, 0x24F},    {0x370, 0x1FFF},  {0x2C00, 0x2DFF},    {0x3040, 0x9FFF},
    {0xAC00, 0xD7AF}, {0xF900, 0xFAFF}, {0x10000, 0x1FFFFF},
};

OmniVoiceClass omnivoice_class(char32_t c) {
  if (c == '\r' || c == '\n') return OmniVoiceClass::newline;
  if (c >= '0' && c <= '9') return OmniVoiceClass::digit;
  if (c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == 0xA0 || (c >= 0x2000 && c <= 0x2002) ||
      c == 0x200B) {
    return OmniVoiceClass::space;
  }
  const bool is_letter = std::ranges::any_of(
      kLetterRanges, [c](LetterRange range) { return c >= range.first && c <= range.last; });
  return is_letter ? OmniVoiceClass::letter : OmniVoiceClass::other;
}

class OmniVoiceMatcher {
 public:
  explicit OmniVoiceMatcher(std::string_view text) : text_(text) {}

  // End of the pre-token that begins at `at`, which is before the end of the text.
  size_t match(size_t at) const {
    const OmniVoiceChar first = char_at(at);
    const size_t after = at + first.n_bytes;
    if (const size_t end = match_contraction(at); end != at) return end;
    if (first.is(OmniVoiceClass::letter)) return run(at, OmniVoiceClass::letter);
    if (first.is(OmniVoiceClass::other) && char_at(after).is(OmniVoiceClass::letter)) {
      return run(after, OmniVoiceClass::letter);
    }
    if (first.is(OmniVoiceClass::digit)) return after;
    if (first.is(OmniVoiceClass::newline)) return run(at, OmniVoiceClass::newline);
    if (first.is(OmniVoiceClass::space)) return match_spaces(at);
    return match_punctuation(at);
  }

 private:
  // A lead byte takes the bytes that it announces, whatever they are; any other byte is a character.
  OmniVoiceChar char_at(size_t at) const {
    if (at >= text_.size()) return {};
    const auto lead = static_cast<uint8_t>(text_[at]);
    uint32_t n_bytes = 1;
    char32_t value = lead;
    if (lead >= 0xC0 && lead < 0xF8) {
      n_bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      value = lead & (0x7F >> n_bytes);
      for (uint32_t i = 1; i < n_bytes; ++i) {
        const uint8_t byte = at + i < text_.size() ? static_cast<uint8_t>(text_[at + i]) : 0;
        value = value << 6 | (byte & 0x3F);
      }
      n_bytes = static_cast<uint32_t>(std::min<size_t>(n_bytes, text_.size() - at));
    }
    return {value, n_bytes, omnivoice_class(value)};
  }

  size_t run(size_t at, OmniVoiceClass wanted) const {
    for (OmniVoiceChar c = char_at(at); c.is(wanted); c = char_at(at)) at += c.n_bytes;
    return at;
  }

  // 's 't 'm 'd 're 've 'll, also with U+2019, before anything but a letter.
  size_t match_contraction(size_t at) const {
    const OmniVoiceChar apostrophe = char_at(at);
    if (apostrophe.value != '\'' && apostrophe.value != 0x2019) return at;
    const size_t from = at + apostrophe.n_bytes;
    for (const std::string_view ending : {"ll", "re", "ve", "s", "t", "m", "d"}) {
      const std::string_view letters = text_.substr(std::min(from, text_.size()), ending.size());
      const bool is_ending = std::ranges::equal(letters, ending, {}, [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      const size_t end = from + ending.size();
      if (is_ending && !char_at(end).is(OmniVoiceClass::letter)) return end;
    }
    return at;
  }

  // White space without line ends. Its last byte goes with what follows, even where it is a part of a
  // character; before more white space all of that is taken.
  size_t match_spaces(size_t at) const {
    const size_t end = run(at, OmniVoiceClass::space);
    const OmniVoiceChar next = char_at(end);
    if (next.n_bytes == 0 || next.is(OmniVoiceClass::newline)) {
      size_t all = end;
      for (OmniVoiceChar c = next; c.is(OmniVoiceClass::newline) || c.is(OmniVoiceClass::space);
           c = char_at(all)) {
        all += c.n_bytes;
      }
      return all;
    }
    if (end - at > 1) return end - 1;
    if (next.is(OmniVoiceClass::letter)) return run(end, OmniVoiceClass::letter);
    return next.is(OmniVoiceClass::other) ? match_punctuation(end) : end;
  }

  // Other characters, with the line ends after them.
  size_t match_punctuation(size_t at) const {
    return run(run(at, OmniVoiceClass::other), OmniVoiceClass::newline);
  }

  std::string_view text_;
};

}  // namespace

void split_omnivoice(std::string_view text, FunctionRef<void(std::string_view)> take) {
  const OmniVoiceMatcher matcher(text);
  for (size_t at = 0; at < text.size();) {
    const size_t end = matcher.match(at);
    take(text.substr(at, end - at));
    at = end;
  }
}

}  // namespace parlance
