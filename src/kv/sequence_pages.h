// The pages of one sequence, in order of position, and what must be copied before it may write on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kv/page_pool.h"
#include "kv/page_rules.h"
#include "kv/prefix_tree.h"

namespace parlance {

// Positions that a page has to get from another one of its kind before it is written behind them. There is no
// way from one kind to the other in the middle of a page: compressed positions would not be exact ones again.
struct PageCopy {
  PageKind kind;
  int32_t from;
  int32_t to;
  int32_t n_tokens;  // the first ones of the page
};

// Pages may be shared with other sequences and the prefix tree, and are then never written: extend() says
// which one gives way to a copy. Not safe to use from several threads; several sequences may share the pools.
class SequencePages {
 public:
  // The pools outlive the sequence, which gives back what it holds.
  SequencePages(PagePools& pools, int32_t page_tokens) : pools_(&pools), page_tokens_(page_tokens) {}
  SequencePages(SequencePages&& other) noexcept;
  SequencePages& operator=(SequencePages&& other) noexcept;
  ~SequencePages() { truncate(0); }

  int64_t n_tokens() const { return n_tokens_; }
  std::span<const PageRef> pages() const { return pages_; }  // div_up(n_tokens, page_tokens) of them

  // Starts an empty sequence with what the prefix tree knew.
  void adopt(PrefixMatch match);

  // A second sequence with the same positions, in the same pages.
  SequencePages fork() const;

  // Keeps positions [0, n_tokens).
  void truncate(int64_t n_tokens);

  // As usable_tokens() of its pages: where to cut before going on.
  int64_t usable(int64_t n_tokens, const PageRules& rules) const {
    return usable_tokens(pages_, n_tokens, page_tokens_, rules);
  }

  struct Extension {
    enum Outcome {
      done,
      no_room,    // too few pages are free
      wrong_kind  // the last page is not full and lacks the kind: cut to usable() first
    };
    Outcome outcome = no_room;     // unless done, nothing has changed
    std::optional<PageCopy> copy;  // to be made before anything is written
  };
  // Makes room for positions [n_tokens(), n_tokens), which the caller writes into pages of a kind. The source
  // of a copy stays held until the next change of the sequence.
  [[nodiscard]] Extension extend(int64_t n_tokens, PageKind kind);

  // Whether extend() by one, were the sequence so long, would neither take a page nor change one.
  bool is_own_at(int64_t n_tokens, PageKind kind) const;

  // A main page beside the exact one, which the caller fills with the same in the main formats. The page that
  // is there already, if there is one, has them; none when no page is free.
  struct Twin {
    int32_t main;
    bool is_new;
  };
  std::optional<Twin> add_main(size_t page);

  // Gives the exact page back, when the main one holds all that is in it. If the page was published, publish
  // again, or the tree has nothing but the exact page and cannot part with it.
  void drop_exact(size_t page);

  // Shares the pages of the first tokens with everybody. Full pages may be exchanged for known ones of the
  // same tokens, so who keeps a table of the pages reads them again.
  void publish(PrefixTree& tree, const PrefixKey& text, PrefixClass prefix_class);

 private:
  void release_copied();

  PagePools* pools_;
  int32_t page_tokens_;
  int64_t n_tokens_ = 0;
  std::vector<PageRef> pages_;
  PageRef copied_;  // the source of the last copy
};

}  // namespace parlance
