// How a cache's policy wants the pages of a sequence, and from where a sequence may go on by that.
#pragma once

#include <cstdint>
#include <span>

#include "kv/page_pool.h"

namespace parlance {

struct PageRules {
  PageKind written = PageKind::main;  // what new positions are written into
  int64_t n_exact_first = 0;          // the first pages, which are read as exact ones for good
  bool operator==(const PageRules&) const = default;
};

// The last of positions 0 .. n_tokens that a sequence with these pages may go on from: n_tokens, unless the
// page it lies in lacks the kind that is written, or one of the first pages the exact one. What lies behind
// has to be computed again.
int64_t usable_tokens(std::span<const PageRef> pages, int64_t n_tokens, int32_t page_tokens,
                      const PageRules& rules);

}  // namespace parlance
