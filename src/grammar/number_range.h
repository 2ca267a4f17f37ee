// Decimal numbers, and automata of those that lie within bounds.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/automaton.h"

namespace parlance {

// Exactly as it is written, of any size.
struct Decimal {
  bool is_negative = false;
  std::string whole = {};     // digits without needless zeros; "0"
  std::string fraction = {};  // digits without zeros at the end; may be empty

  bool is_zero() const { return whole == "0" && fraction.empty(); }
};

// A number as JSON writes it. None when it is none, or would have more than a few hundred digits.
std::optional<Decimal> parse_decimal(std::string_view text);
std::strong_ordering compare(const Decimal& a, const Decimal& b);

struct NumberBounds {
  std::optional<Decimal> least, most;
  bool excludes_least = false, excludes_most = false;
};

// How JSON writes the numbers within bounds, over bytes: integers as digits, others in decimal form with 15
// digits (or as many as a bound has) and no exponent. Not the numbers of any size that have no bounds.
Dfa numbers_within(const NumberBounds& bounds, bool integers_only);

}  // namespace parlance
