// What the tokenisers need to know of Unicode: code points in UTF-8 and the classes that pre-token patterns
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace parlance {

// Classes of a code point, as bits. Those of general categories follow the installed utf8proc; code points
// that are unassigned, private or surrogates have none.
enum CharClass : uint8_t {
  kLetter = 1,       // L
  kNumber = 2,       // N
  kMark = 4,         // M
  kPunctuation = 8,  // P
  kSpace = 16,       // the 25 code points of White_Space
  kNewline = 32,     // CR and LF, which are also kSpace
};

uint8_t char_class(char32_t code_point);

// Stands for bytes that are in no sequence: U+FFFD.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct CodePoint {
  char32_t value = 0;
  uint32_t n_bytes = 0;  // 0 at the end of the text
};

// The code point that begins at `at`. The text is as replace_invalid() leaves it.
inline CodePoint decode_code_point(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {static_cast<char32_t>((lead & 0x1F) << 6 | (byte(1) & 0x3F)), 2};
  if (lead < 0xF0) {
    return {static_cast<char32_t>((lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F)), 3};
  }
  return {static_cast<char32_t>((lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
                                (byte(3) & 0x3F)),
          4};
}

// Appends a code point below 0x110000 as UTF-8.
void append_utf8(std::string& text, char32_t code_point);

// Bytes of the sequence that begins at `at` (1 to 4), or 0 when there is no such sequence: a bad lead byte, a
// missing or bad continuation, an overlong form, a value above U+10FFFF. Surrogates are taken for sequences,
// as the tokenisers that vocabularies were trained with do.
uint32_t utf8_sequence(std::string_view text, size_t at);

// The text with every byte that is in no sequence replaced by U+FFFD: the text itself when there is none,
// otherwise a view on `storage`.
std::string_view replace_invalid(std::string_view text, std::string& storage);

}  // namespace parlance
