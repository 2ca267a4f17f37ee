// Searching, replacing and splitting text in time linear in its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "jinja/budget.h"
#include "jinja/writer.h"

namespace parlance::jinja {

// Occurrences of one needle, in time linear in what is searched, whatever the needle (Knuth, Morris, Pratt).
class Finder {
 public:
  enum class Direction { forward, backward };
  Finder(Budget& budget, std::string_view needle, Direction direction = Direction::forward);
  // Start of the first occurrence at or behind `from`, npos when there is none. Direction forward.
  size_t find(std::string_view text, size_t from = 0) const;
  // Start of the last occurrence that ends at or before `end`. Direction backward.
  size_t rfind(std::string_view text, size_t end) const;

 private:
  Budget& budget_;
  std::string_view needle_;
  Charge charge_;
  std::vector<uint32_t> borders_;  // empty for a short needle, which the standard library finds faster
};

// `text` with the first `limit` (negative: all) occurrences of `old_text` replaced. An empty one stands in
// front of every character and at the end.
void write_replaced(Writer& writer, std::string_view text, std::string_view old_text,
                    std::string_view new_text, int64_t limit = -1);

// The lines of `text` as str.splitlines finds them, and what ends each.
struct Line {
  std::string_view text, end;
};
// The line at `at`, which moves behind it. There are no more when at == text.size().
Line next_line(std::string_view text, size_t& at);

}  // namespace parlance::jinja
