// Numbers in text that comes from outside.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace parlance {

// A whole number or a decimal from all of the text; empty when it is something else.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace parlance
