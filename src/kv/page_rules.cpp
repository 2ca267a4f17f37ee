#include "kv/page_rules.h"

#include <algorithm>
#include <cassert>

#include "base/checked.h"

namespace parlance {

int64_t usable_tokens(std::span<const PageRef> pages, int64_t n_tokens, int32_t page_tokens,
                      const PageRules& rules) {
  const int64_t n_pages = div_up<int64_t>(n_tokens, page_tokens);
  assert(n_tokens >= 0 && n_pages <= std::ssize(pages));
  for (int64_t page = 0; page < std::min(rules.n_exact_first, n_pages); ++page) {
    if (pages[static_cast<size_t>(page)].exact < 0) return page * page_tokens;
  }
  const int64_t n_partial = n_tokens % page_tokens;
  const bool is_cut = n_partial > 0 && pages[static_cast<size_t>(n_pages - 1)][rules.written] < 0;
  return is_cut ? n_tokens - n_partial : n_tokens;
}

}  // namespace parlance
