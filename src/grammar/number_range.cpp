#include "grammar/number_range.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "base/ascii.h"
#include "base/parse_number.h"

namespace parlance {

namespace {

constexpr int kMostDigits = 400;
constexpr uint32_t kDigitsOfDecimals = 15;  // what a double keeps

std::strong_ordering compare_sizes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() <=> b.whole.size();
  if (const auto order = a.whole <=> b.whole; order != 0) return order;
  return a.fraction <=> b.fraction;  // without zeros at their ends, digits compare as numbers do
}

// A bound of numbers that have no sign.
struct SizeBound {
  const Decimal* decimal = nullptr;  // null: none
  bool is_excluded = false;
};

// The automaton of unsigned numbers within bounds, made by following all of them at once: a state is what has
// to be known of the digits that were read.
class SizeAutomaton {
 public:
  SizeAutomaton(const SizeBound& least, const SizeBound& most, bool integers_only)
      : least_(least), most_(most), integers_only_(integers_only) {
    most_digits_ = kDigitsOfDecimals;
    for (const SizeBound* const bound : {&least_, &most_}) {
      if (!bound->decimal) continue;
      longest_whole_ = std::max(longest_whole_, static_cast<uint32_t>(bound->decimal->whole.size()));
      const size_t n_digits = bound->decimal->whole.size() + bound->decimal->fraction.size();
      most_digits_ = std::max(most_digits_, static_cast<uint32_t>(n_digits));
    }
  }

  // Adds it to an automaton whose next state is its start; states follow each other.
  void add_to(Dfa& dfa) {
    const AutomatonState base = dfa.n_states();
    number_of({});
    for (size_t i = 0; i < states_.size(); ++i) {
      const State state = states_[i];
      const auto edge = [&](char symbol, const std::optional<State>& to) {
        if (to)
          dfa.edges.push_back(
              {static_cast<Symbol>(symbol), static_cast<Symbol>(symbol), base + number_of(*to)});
      };
      edge('.', behind_point(state));
      for (char digit = '0'; digit <= '9'; ++digit) edge(digit, behind_digit(state, digit));
      dfa.close_state(is_within(state));
    }
  }

 private:
  enum class Part : uint8_t { nothing, zero, whole, point, fraction };
  struct State {
    Part part = Part::nothing;
    uint32_t n_whole = 0;           // digits before the point
    uint32_t n_fraction = 0;        // behind it
    int to_least = 0, to_most = 0;  // how the digits compare with the bound's first ones: -1, 0, 1
    auto operator<=>(const State&) const = default;
  };

  AutomatonState number_of(const State& state) {
    const auto [found, is_new] = numbers_.emplace(state, static_cast<AutomatonState>(states_.size()));
    if (is_new) states_.push_back(state);
    return found->second;
  }

  // The comparison when one more digit has been read, which stands at place `at` of the bound's digits.
  static int compared(int before, char digit, std::string_view digits, size_t at, char otherwise) {
    if (before != 0) return before;
    const char other = at < digits.size() ? digits[at] : otherwise;
    return digit < other ? -1 : digit > other;
  }

  std::optional<State> behind_digit(State state, char digit) const {
    if (state.part == Part::zero) return std::nullopt;
    const bool is_fraction = state.part == Part::point || state.part == Part::fraction;
    const auto compare_with = [&](const SizeBound& bound, int before) {
      if (!bound.decimal) return 0;
      if (is_fraction) return compared(before, digit, bound.decimal->fraction, state.n_fraction, '0');
      return compared(before, digit, bound.decimal->whole, state.n_whole, digit);
    };
    state.to_least = compare_with(least_, state.to_least);
    state.to_most = compare_with(most_, state.to_most);
    if (is_fraction) {
      ++state.n_fraction;
      state.part = Part::fraction;
    } else {
      ++state.n_whole;
      state.part = state.n_whole == 1 && digit == '0' ? Part::zero : Part::whole;
      if (most_.decimal && state.n_whole > most_.decimal->whole.size()) return std::nullopt;
    }
    if (integers_only_) {
      state.n_whole = std::min(state.n_whole, longest_whole_ + 1);
    } else if (state.n_whole + state.n_fraction > most_digits_) {
      return std::nullopt;
    }
    return state;
  }

  std::optional<State> behind_point(State state) const {
    if (integers_only_ || (state.part != Part::zero && state.part != Part::whole)) return std::nullopt;
    state.to_least = with_length(state, least_, state.to_least);
    state.to_most = with_length(state, most_, state.to_most);
    state.part = Part::point;
    return state;
  }

  // How the whole part compares when it is complete.
  static int with_length(const State& state, const SizeBound& bound, int compared) {
    if (!bound.decimal || state.n_whole == bound.decimal->whole.size()) return compared;
    return state.n_whole < bound.decimal->whole.size() ? -1 : 1;
  }

  // How the number compares when it ends here.
  static int compared_whole(const State& state, const SizeBound& bound, int before) {
    const bool is_whole = state.part == Part::zero || state.part == Part::whole;
    const int order = is_whole ? with_length(state, bound, before) : before;
    // Digits of the bound that were not reached are not all zeros.
    return order == 0 && state.n_fraction < bound.decimal->fraction.size() ? -1 : order;
  }

  bool is_within(const State& state) const {
    if (state.part == Part::nothing || state.part == Part::point) return false;
    if (least_.decimal) {
      const int order = compared_whole(state, least_, state.to_least);
      if (order < 0 || (order == 0 && least_.is_excluded)) return false;
    }
    if (most_.decimal) {
      const int order = compared_whole(state, most_, state.to_most);
      if (order > 0 || (order == 0 && most_.is_excluded)) return false;
    }
    return true;
  }

  const SizeBound least_, most_;
  const bool integers_only_;
  uint32_t most_digits_ = 0, longest_whole_ = 0;
  std::map<State, AutomatonState> numbers_;
  std::vector<State> states_;
};

}  // namespace

std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal decimal;
  if (text.starts_with('-')) {
    decimal.is_negative = true;
    text.remove_prefix(1);
  }
  const size_t e = std::min(text.find_first_of("eE"), text.size());
  int exponent = 0;
  if (e < text.size()) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto value = parse_number<int>(digits);
    if (!value || std::abs(*value) > kMostDigits) return std::nullopt;
    exponent = *value;
  }
  const std::string_view plain = text.substr(0, e);
  const size_t point = std::min(plain.find('.'), plain.size());
  std::string digits(plain.substr(0, point));
  if (point < plain.size()) digits += plain.substr(point + 1);
  if (digits.empty() || digits.size() > kMostDigits || !std::ranges::all_of(digits, ascii::is_digit))
    return std::nullopt;
  int n_whole = static_cast<int>(point) + exponent;
  if (n_whole < 0) digits.insert(0, static_cast<size_t>(-n_whole), '0');
  n_whole = std::max(n_whole, 0);
  if (static_cast<size_t>(n_whole) > digits.size()) digits.resize(static_cast<size_t>(n_whole), '0');
  decimal.whole = digits.substr(0, static_cast<size_t>(n_whole));
  decimal.fraction = digits.substr(static_cast<size_t>(n_whole));
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size()));
  if (decimal.whole.empty()) decimal.whole = "0";
  decimal.fraction.resize(decimal.fraction.find_last_not_of('0') + 1);
  if (decimal.is_zero()) decimal.is_negative = false;
  return decimal;
}

std::strong_ordering compare(const Decimal& a, const Decimal& b) {
  if (a.is_negative != b.is_negative) return b.is_negative <=> a.is_negative;
  return a.is_negative ? compare_sizes(b, a) : compare_sizes(a, b);
}

Dfa numbers_within(const NumberBounds& bounds, bool integers_only) {
  static const Decimal kZero = {.whole = "0"}, kOne = {.whole = "1"};
  const auto& [least, most, excludes_least, excludes_most] = bounds;
  const bool has_negative = !least || least->is_negative;
  const bool has_positive = !most || !most->is_negative;
  // The start has the edges of the unsigned numbers' start, and a minus sign.
  Dfa unsigned_numbers, negative_numbers;
  if (has_positive) {
    const SizeBound lower = least && !least->is_negative ? SizeBound{&*least, excludes_least} : SizeBound{};
    SizeAutomaton(lower, {most ? &*most : nullptr, excludes_most}, integers_only).add_to(unsigned_numbers);
  } else {
    unsigned_numbers.close_state(false);
  }
  Dfa all;
  if (has_negative) {
    all.edges.push_back({'-', '-', unsigned_numbers.n_states()});
  }
  const size_t n_before = all.edges.size();
  all.edges.insert(all.edges.end(), unsigned_numbers.edges.begin(), unsigned_numbers.edges.end());
  for (AutomatonState state = 0; state < unsigned_numbers.n_states(); ++state) {
    all.begins.push_back(static_cast<uint32_t>(unsigned_numbers.begins[state + 1] + n_before));
    all.accepts.push_back(unsigned_numbers.accepts[state]);
  }
  if (has_negative) {
    SizeBound nearest;  // to zero
    if (most && most->is_negative) {
      nearest = {&*most, excludes_most};
    } else if (most && most->is_zero() && excludes_most) {
      nearest = {&kZero, true};
    }
    if (integers_only && !nearest.decimal) nearest = {&kOne, false};
    if (integers_only && nearest.decimal->is_zero()) nearest = {&kOne, false};
    SizeAutomaton(nearest, {least ? &*least : nullptr, excludes_least}, integers_only).add_to(all);
  }
  return all;
}

}  // namespace parlance
