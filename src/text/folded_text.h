// Text of any language reduced to what English reads aloud: one byte a character.
#pragma once

#include <string>
#include <string_view>

namespace parlance {

// Signs beyond ASCII that are kept, as single bytes (those of Latin-1, but for the euro).
inline constexpr char kEuro = '\x80', kPound = '\xA3', kDegree = '\xB0', kTimes = '\xD7', kDivided = '\xF7';

// ASCII where there is an obvious twin: accents fall off, quotes and dashes become plain. The signs above
// stay; every other character, and every byte that is no UTF-8, becomes a space.
std::string fold(std::string_view text);

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
inline bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
inline bool is_letter(char c) {
  return is_lower(c) || is_upper(c);
}
inline char to_lower(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
inline char to_upper(char c) {
  return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}
// White space, the separators of ASCII included.
inline bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

std::string lower(std::string_view text);
std::string upper(std::string_view text);

}  // namespace parlance
