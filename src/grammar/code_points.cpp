#include "grammar/code_points.h"

#include <algorithm>

namespace parlance {

CodePointSet::CodePointSet(std::initializer_list<CodePointRange> ranges) {
  for (const CodePointRange& range : ranges) add(range);
}

CodePointSet CodePointSet::all() {
  return {{0, 0xD7FF}, {0xE000, 0x10FFFF}};
}

void CodePointSet::add(CodePointRange range) {
  // What touches it or overlaps becomes one with it.
  const auto begin = std::ranges::find_if(
      ranges_, [&](const CodePointRange& other) { return other.last + 1 >= range.first; });
  auto end = begin;
  for (; end != ranges_.end() && end->first <= range.last + 1; ++end) {
    range.first = std::min(range.first, end->first);
    range.last = std::max(range.last, end->last);
  }
  ranges_.insert(ranges_.erase(begin, end), range);
}

void CodePointSet::add(const CodePointSet& other) {
  for (const CodePointRange& range : other.ranges_) add(range);
}

CodePointSet CodePointSet::complement() const {
  return all().without(*this);
}

CodePointSet CodePointSet::without(const CodePointSet& other) const {
  CodePointSet rest;
  auto taken = other.ranges_.begin();
  for (CodePointRange range : ranges_) {
    while (taken != other.ranges_.end() && taken->last < range.first) ++taken;
    for (auto next = taken; next != other.ranges_.end() && next->first <= range.last; ++next) {
      if (next->first > range.first) rest.ranges_.push_back({range.first, next->first - 1});
      range.first = next->last + 1;
      if (range.first > range.last) break;
    }
    if (range.first <= range.last) rest.ranges_.push_back(range);
  }
  return rest;
}

CodePointSet CodePointSet::common_with(const CodePointSet& other) const {
  return without(other.complement());
}

bool CodePointSet::contains(char32_t code_point) const {
  return std::ranges::any_of(ranges_, [&](const CodePointRange& range) {
    return range.first <= code_point && code_point <= range.last;
  });
}

}  // namespace parlance
