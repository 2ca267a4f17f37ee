// Numbers from text, as Python's int() and float() read them.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"

namespace parlance::jinja {

// 0 to 9; digits of other scripts are in unicode.h.
inline bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

// Empty when the text is not a number; an error when it is one that 64 bits, or this interpreter, do not
// hold.
Result<std::optional<int64_t>> parse_integer(std::string_view text, int64_t base = 10);
Result<std::optional<double>> parse_float(std::string_view text);

// Rounded to a number of decimals, half to even, judged by the exact value of the double.
double round_to(double value, int decimals);

}  // namespace parlance::jinja
