#include "jinja/numbers.h"

#include <charconv>
#include <cmath>
#include <string>

#include "text/letter_case.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

bool is_alphanumeric(char c) {
  return is_ascii_digit(c) || (static_cast<char>(c | 0x20) >= 'a' && static_cast<char>(c | 0x20) <= 'z');
}

// Digits of other scripts count as digits in Python.
Result<void> check_digits(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (c >= 0x80 && is_decimal(c)) {
      return fail(ErrorCode::unsupported, "numbers in digits other than 0 to 9 are not supported");
    }
  }
  return {};
}

// Without its underscores, which may only stand between digits; empty when one stands elsewhere.
std::optional<std::string> without_separating_underscores(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      result += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_alphanumeric(text[i - 1]) ||
               !is_alphanumeric(text[i + 1])) {
      return std::nullopt;
    }
  }
  return result;
}

bool take_sign(std::string_view& text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  return is_negative;
}

}  // namespace

Result<std::optional<int64_t>> parse_integer(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) {
    return fail(ErrorCode::invalid_argument, "the base of an integer is 0 or from 2 to 36, found {}", base);
  }
  text = strip(text);
  PARLANCE_CHECK(check_digits(text));
  const bool is_negative = take_sign(text);
  if (text.size() > 1 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int64_t prefixed = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    if (prefixed != 0 && (base == 0 || base == prefixed)) {
      base = prefixed;
      text.remove_prefix(2);
      if (text.starts_with('_')) text.remove_prefix(1);
    }
  }
  const auto digits = without_separating_underscores(text);
  if (!digits || digits->empty()) return std::nullopt;
  if (base == 0) {
    if ((*digits)[0] == '0' && digits->find_first_not_of('0') != std::string::npos) return std::nullopt;
    base = 10;
  }
  uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(digits->data(), digits->data() + digits->size(), magnitude, static_cast<int>(base));
  if (end != digits->data() + digits->size() || error == std::errc::invalid_argument) return std::nullopt;
  const uint64_t limit = static_cast<uint64_t>(INT64_MAX) + (is_negative ? 1 : 0);
  if (error != std::errc() || magnitude > limit) {
    return fail(ErrorCode::unsupported, "an integer that does not fit into 64 bits is not supported");
  }
  return static_cast<int64_t>(is_negative ? 0 - magnitude : magnitude);
}

Result<std::optional<double>> parse_float(std::string_view text) {
  text = strip(text);
  PARLANCE_CHECK(check_digits(text));
  const bool is_negative = take_sign(text);
  const auto plain = without_separating_underscores(text);
  if (!plain || plain->empty()) return std::nullopt;
  const bool has_underscore = plain->size() != text.size();
  const std::string lowered = lower(*plain);
  double value = 0;
  if (lowered == "inf" || lowered == "infinity" || lowered == "nan") {
    if (has_underscore) return std::nullopt;
    value = lowered == "nan" ? NAN : INFINITY;
  } else {
    if (!is_ascii_digit((*plain)[0]) && (*plain)[0] != '.') return std::nullopt;
    const auto [end, error] = std::from_chars(plain->data(), plain->data() + plain->size(), value);
    if (error == std::errc::invalid_argument || end != plain->data() + plain->size()) return std::nullopt;
    if (error == std::errc::result_out_of_range) {
      return fail(ErrorCode::unsupported, "a number beyond the range of floats is not supported");
    }
  }
  return is_negative ? -value : value;
}

double round_to(double value, int decimals) {
  if (!std::isfinite(value) || decimals > 323) return value;
  char buffer[768];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals).ptr;
  double rounded = value;
  std::from_chars(buffer, end, rounded);
  return rounded;
}

}  // namespace parlance::jinja
