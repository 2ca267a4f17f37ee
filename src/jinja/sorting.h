// A stable sort whose comparison may fail, and which stays in bounds whatever the comparison answers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/result.h"
#include "jinja/value.h"

namespace parlance::jinja {

inline Result<bool> is_less(Budget& budget, const Value& a, const Value& b) {
  PARLANCE_TRY(const std::partial_ordering ordering, order(budget, a, b, "<"));
  return ordering < 0;
}

// `less(a, b)` returns Result<bool>.
template <class T, class Less>
Result<std::vector<T>> merge_sort(std::vector<T> items, Less less) {
  std::vector<T> merged(items.size());
  for (size_t width = 1; width < items.size(); width *= 2) {
    for (size_t begin = 0; begin < items.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, items.size());
      const size_t end = std::min(begin + 2 * width, items.size());
      for (size_t left = begin, right = middle, to = begin; to < end; ++to) {
        bool take_right = left == middle;
        if (left < middle && right < end) {
          PARLANCE_TRY(take_right, less(items[right], items[left]));
        }
        merged[to] = std::move(items[take_right ? right++ : left++]);
      }
    }
    std::swap(items, merged);
  }
  return items;
}

}  // namespace parlance::jinja
