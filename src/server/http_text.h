// Small rules of text in HTTP's fields.
#pragma once

#include <string_view>

namespace parlance {

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "a; b" -> "a", and "b" stays in `text`.
inline std::string_view next_of(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view first = trimmed(text.substr(0, end));
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return first;
}

}  // namespace parlance
