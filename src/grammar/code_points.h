// Sets of code points, as classes of regular expressions and of grammars are.
#pragma once

#include <compare>
#include <initializer_list>
#include <vector>

namespace parlance {

struct CodePointRange {
  char32_t first, last;  // both are in it
  auto operator<=>(const CodePointRange&) const = default;
};

class CodePointSet {
 public:
  CodePointSet() = default;
  CodePointSet(std::initializer_list<CodePointRange> ranges);

  // Code points of Unicode without surrogates, which no UTF-8 has.
  static CodePointSet all();

  void add(CodePointRange range);
  void add(const CodePointSet& other);
  CodePointSet complement() const;
  CodePointSet without(const CodePointSet& other) const;
  CodePointSet common_with(const CodePointSet& other) const;

  bool is_empty() const { return ranges_.empty(); }
  bool contains(char32_t code_point) const;
  // Ascending, with gaps between them.
  const std::vector<CodePointRange>& ranges() const { return ranges_; }

  auto operator<=>(const CodePointSet&) const = default;

 private:
  std::vector<CodePointRange> ranges_;
};

}  // namespace parlance
