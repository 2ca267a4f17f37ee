// Walking over text whose bytes may be anything: what is no UTF-8 reads as U+FFFD, byte by byte.
#pragma once

#include <cstddef>
#include <string_view>

namespace parlance {

// The code point that begins at `at`, which moves behind it.
char32_t next_code_point(std::string_view text, size_t& at);

// The code point that ends where the text does; 0 when there is none.
char32_t last_code_point(std::string_view text);

size_t count_code_points(std::string_view text);

// U+4E00 to U+9FFF, the block by which text is taken for Chinese.
inline bool is_cjk(char32_t c) {
  return c >= 0x4E00 && c <= 0x9FFF;
}
bool has_cjk(std::string_view text);

// Unicode's White_Space, and U+FEFF.
bool is_white_space(char32_t c);

// The text without white space, or without spaces and tabs, at its ends.
std::string_view strip_white_space(std::string_view text);
std::string_view strip_blanks(std::string_view text);

inline bool contains(std::u32string_view marks, char32_t c) {
  return marks.find(c) != std::u32string_view::npos;
}

inline char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace parlance
