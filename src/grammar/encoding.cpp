#include "grammar/encoding.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/unicode.h"

namespace parlance {

namespace {

constexpr char32_t kMostOfLength[] = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};  // code points of 1 to 4 bytes
constexpr std::pair<char32_t, char> kShortEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'\b', 'b'},
                                                       {'\f', 'f'}, {'\n', 'n'},  {'\r', 'r'}, {'\t', 't'}};

// Cuts a range of numbers where needed, so that each part is all numbers whose digits of `digit_bits` bits
// lie in ranges of their own; calls visit(first, last) for each part. `n_digits` are counted from the lowest.
template <class Visit>
void for_each_digit_box(char32_t first, char32_t last, int digit_bits, int n_digits, Visit visit) {
  std::vector<CodePointRange> todo = {{first, last}};
  while (!todo.empty()) {
    const auto [low, high] = todo.back();
    todo.pop_back();
    std::optional<char32_t> cut;  // the last of the lower part
    for (int digit = 1; digit < n_digits && !cut; ++digit) {
      const char32_t below = (char32_t{1} << digit_bits * digit) - 1;
      if ((low & ~below) == (high & ~below)) continue;
      if ((low & below) != 0) cut = low | below;
      if ((high & below) != below && !cut) cut = (high & ~below) - 1;
    }
    if (cut) {
      todo.push_back({*cut + 1, high});
      todo.push_back({low, *cut});
    } else {
      visit(low, high);
    }
  }
}

class Utf8Writer {
 public:
  explicit Utf8Writer(Rules& rules) : rules_(rules) {}

  void add(AutomatonState from, CodePointRange range, AutomatonState to) {
    char32_t first = range.first;
    for (size_t length = 1; length <= 4 && first <= range.last; ++length) {
      if (first > kMostOfLength[length - 1]) continue;
      const char32_t last = std::min(range.last, kMostOfLength[length - 1]);
      for_each_digit_box(first, last, 6, static_cast<int>(length),
                         [&](char32_t low, char32_t high) { add_box(from, low, high, to); });
      first = last + 1;
    }
  }

 private:
  void add_box(AutomatonState from, char32_t low, char32_t high, AutomatonState to) {
    std::string first, last;
    append_utf8(first, low);
    append_utf8(last, high);
    for (size_t i = 0; i < first.size(); ++i) {
      const AutomatonState next = i + 1 == first.size() ? to : rules_.add_state();
      rules_.byte_range(from, static_cast<uint8_t>(first[i]), static_cast<uint8_t>(last[i]), next);
      from = next;
    }
  }

  Rules& rules_;
};

class JsonEscapeWriter {
 public:
  explicit JsonEscapeWriter(Rules& rules) : rules_(rules) {}

  void add(AutomatonState from, const CodePointSet& set, AutomatonState to) {
    const AutomatonState behind_backslash = rules_.add_state();
    rules_.byte_range(from, '\\', '\\', behind_backslash);
    for (const auto& [code_point, letter] : kShortEscapes) {
      if (!set.contains(code_point)) continue;
      rules_.byte_range(behind_backslash, static_cast<uint8_t>(letter), static_cast<uint8_t>(letter), to);
    }
    const AutomatonState digits = rules_.add_state();
    rules_.byte_range(behind_backslash, 'u', 'u', digits);
    const CodePointSet lower = set.common_with({{0, 0xFFFF}}), upper = set.common_with({{0x10000, 0x10FFFF}});
    for (const CodePointRange& range : lower.ranges()) add_four_digits(digits, range.first, range.last, to);
    for (const CodePointRange& range : upper.ranges()) {
      for_each_digit_box(range.first - 0x10000, range.last - 0x10000, 10, 2,
                         [&](char32_t low, char32_t high) { add_surrogates(digits, low, high, to); });
    }
  }

 private:
  // Offsets from U+10000 whose upper and lower ten bits lie between those of `low` and `high`.
  void add_surrogates(AutomatonState from, char32_t low, char32_t high, AutomatonState to) {
    const AutomatonState middle = rules_.add_state(), digits = rules_.add_state();
    add_four_digits(from, 0xD800 + (low >> 10), 0xD800 + (high >> 10), middle);
    rules_.text(middle, "\\u", digits);
    add_four_digits(digits, 0xDC00 + (low & 0x3FF), 0xDC00 + (high & 0x3FF), to);
  }

  // Hexadecimal, in either case.
  void add_four_digits(AutomatonState start, char32_t first, char32_t last, AutomatonState to) {
    for_each_digit_box(first, last, 4, 4, [&](char32_t low, char32_t high) {
      AutomatonState from = start;
      for (int shift = 12; shift >= 0; shift -= 4) {
        const AutomatonState next = shift == 0 ? to : rules_.add_state();
        add_digit(from, low >> shift & 15, high >> shift & 15, next);
        from = next;
      }
    });
  }

  void add_digit(AutomatonState from, uint32_t low, uint32_t high, AutomatonState to) {
    if (low < 10) {
      rules_.byte_range(from, static_cast<uint8_t>('0' + low), static_cast<uint8_t>('0' + std::min(high, 9u)),
                        to);
    }
    if (high < 10) return;
    for (const char a : {'a', 'A'}) {
      rules_.byte_range(from, static_cast<uint8_t>(a + static_cast<int>(std::max(low, 10u)) - 10),
                        static_cast<uint8_t>(a + static_cast<int>(high) - 10), to);
    }
  }

  Rules& rules_;
};

}  // namespace

void add_utf8(Rules& rules, AutomatonState from, const CodePointSet& set, AutomatonState to) {
  Utf8Writer writer(rules);
  for (const CodePointRange& range : set.ranges()) writer.add(from, range, to);
}

void add_json_characters(Rules& rules, AutomatonState from, const CodePointSet& set, AutomatonState to) {
  static const CodePointSet kNeverRaw = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  add_utf8(rules, from, set.without(kNeverRaw), to);
  JsonEscapeWriter(rules).add(from, set, to);
}

}  // namespace parlance
