// UTF-8, and what the program needs to know of code points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace parlance {

// ---- Bytes of which nothing is known ----

// Stands for bytes that are in no sequence: U+FFFD.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class Utf8Ending : uint8_t { complete, invalid, incomplete };

struct Utf8Sequence {
  size_t n_bytes;
  Utf8Ending ending;
};

// The sequence that begins the bytes, which are not empty. An invalid or incomplete one is as long as it
// could have become valid ("maximal subpart", Unicode standard section 3.9), so that replacing it loses
// nothing that follows. Surrogates are invalid.
Utf8Sequence first_utf8_sequence(std::string_view bytes);

// Offset of the first byte that is not part of valid UTF-8; npos when all are.
size_t find_invalid_utf8(std::string_view bytes);
// Valid UTF-8: every maximal invalid part as U+FFFD.
std::string sanitise_utf8(std::string_view bytes);

// As the tokenisers that vocabularies were trained with read bytes: surrogates are taken for sequences, and
// every byte that is in none is replaced alone.

// Bytes of the sequence that begins at `at` (1 to 4), or 0 when there is no such sequence: a bad lead byte, a
// missing or bad continuation, an overlong form, a value above U+10FFFF.
uint32_t utf8_sequence(std::string_view text, size_t at);

// The text with every byte that is in no sequence replaced by U+FFFD: the text itself when there is none,
// otherwise a view on `storage`.
std::string_view replace_invalid(std::string_view text, std::string& storage);

// ---- Walking over text; a byte that is in no sequence reads as U+FFFD ----

// The code point that begins at `at`, which moves behind it.
char32_t next_code_point(std::string_view text, size_t& at);
// The code point that ends at `at`, which is not 0 and moves to its start.
char32_t previous_code_point(std::string_view text, size_t& at);
// The code point that ends where the text does; 0 when there is none.
char32_t last_code_point(std::string_view text);

size_t count_code_points(std::string_view text);
// Byte offset of code point number n; text.size() when there are no more than n.
size_t offset_of_code_point(std::string_view text, size_t n);
// Start of the code point that the byte at `at` belongs to, in valid UTF-8.
size_t start_of_code_point(std::string_view text, size_t at);

// Appends a code point below 0x110000 as UTF-8.
void append_utf8(std::string& text, char32_t code_point);

struct CodePoint {
  char32_t value = 0;
  uint32_t n_bytes = 0;  // 0 at the end of the text
};

// The code point that begins at `at`. For inner loops: the text is as replace_invalid() leaves it.
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

// ---- Classes ----

// Those that pre-token patterns name, as bits. General categories follow the installed utf8proc; code points
// that are unassigned, private or surrogates have none.
enum CharClass : uint8_t {
  kLetter = 1,       // L
  kNumber = 2,       // N
  kMark = 4,         // M
  kPunctuation = 8,  // P
  kSpace = 16,       // the 25 code points of White_Space
  kNewline = 32,     // CR and LF, which are also kSpace
};

uint8_t char_class(char32_t c);

inline bool is_letter(char32_t c) {
  return (char_class(c) & kLetter) != 0;
}
// Any category of numbers, decimal digits among them.
inline bool is_number(char32_t c) {
  return (char_class(c) & kNumber) != 0;
}

// Unicode's White_Space, and the byte order mark, which pasted text begins with.
bool is_white_space(char32_t c);

// As Python's methods of strings have them, which templates and the post-processing of published models are
// written in.
bool is_space(char32_t c);       // White_Space and the separators U+001C to U+001F: what strip() removes
bool is_line_break(char32_t c);  // where splitlines() splits
bool is_printable(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);  // decimals, superscripts and circled digits
bool is_identifier_part(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);  // without title case
bool is_cased(char32_t c);  // lower, upper or title case

// U+4E00 to U+9FFF, the block by which text is taken for Chinese.
inline bool is_cjk(char32_t c) {
  return c >= 0x4E00 && c <= 0x9FFF;
}
bool has_cjk(std::string_view text);

// Whether anything in the text has a sound: a letter or a number.
bool can_be_said(std::string_view text);

// Columns that a terminal shows a code point in: 0 for marks and control characters, 2 for wide letters.
int n_columns(char32_t c);

// ---- Ends of texts ----

// Without what is_space() at its ends.
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);
std::string_view strip(std::string_view text);
// Without what is_white_space() at its ends, or without spaces and tabs.
std::string_view strip_white_space(std::string_view text);
std::string_view strip_blanks(std::string_view text);

}  // namespace parlance
