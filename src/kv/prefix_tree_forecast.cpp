// What a prefix tree could give up, counted without giving up anything.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "kv/prefix_tree.h"

namespace parlance {

// Goes about it as evict() does: from the ends of texts upwards, as far as nobody else holds the pages.
class PrefixTree::Forecast {
 public:
  explicit Forecast(const PrefixTree& tree)
      : tree_(tree),
        holders_{tree.pools_[PageKind::main].all_holders(), tree.pools_[PageKind::exact].all_holders()} {
    for (const std::list<Node>& nodes : tree.nodes_) {
      for (const Node& node : nodes) count(node);  // children come before their parents
    }
  }

  PageCounts n_pages() const { return n_pages_; }

 private:
  void count(const Node& node) {
    const bool is_leaf = node.n_pins == 0 && std::ranges::none_of(node.children, [](const auto& child) {
                           return child.second->first_left.valid();
                         });
    size_t n_left = node.pages.size();
    while (is_leaf && n_left > 0 && is_free_but_for_tree(node.pages[n_left - 1]))
      let_go(node.pages[--n_left]);
    node.first_left = n_left > 0 ? node.pages.front() : PageRef{};
    for (size_t i = 0; i < n_left; ++i) {
      const PageRef page = node.pages[i], left = copy_left(node, i);
      for (const PageKind kind : kPageKinds) {
        if (left[kind] != page[kind]) let_go(page, kind);
      }
      if (i == 0) node.first_left = left;
    }
  }

  // What becomes of a page that stays: the end of a text gives way to the page of a longer one that has it
  // too, an exact page to its compressed twin.
  PageRef copy_left(const Node& node, size_t i) const {
    PageRef page = node.pages[i];
    if (i + 1 == node.pages.size() && node.end() % tree_.page_tokens_ != 0 && !node.children.empty()) {
      const PageRef longer = node.children.begin()->second->first_left;
      if (longer.valid() && is_free_but_for_tree(page)) return longer;
    }
    if (page.main >= 0 && is_free_but_for_tree(page, PageKind::exact)) page.exact = -1;
    return page;
  }

  bool is_free_but_for_tree(PageRef ref, PageKind kind) const {
    return ref[kind] < 0 || holders_[static_cast<size_t>(kind)][static_cast<size_t>(ref[kind])] ==
                                tree_.references(kind, ref[kind]);
  }
  bool is_free_but_for_tree(PageRef ref) const {
    return std::ranges::all_of(kPageKinds, [&](PageKind kind) { return is_free_but_for_tree(ref, kind); });
  }

  // One reference of the tree less; without the last one the page is free.
  void let_go(PageRef ref, PageKind kind) {
    if (ref[kind] < 0) return;
    const int32_t n_references = tree_.references(kind, ref[kind]);
    const bool is_last =
        n_references == 1 || ++n_let_go_[static_cast<size_t>(kind)][ref[kind]] == n_references;
    n_pages_[kind] += is_last ? 1 : 0;
  }
  void let_go(PageRef ref) {
    for (const PageKind kind : kPageKinds) let_go(ref, kind);
  }

  const PrefixTree& tree_;
  const std::array<std::vector<int32_t>, 2> holders_;  // by kind
  PageCounts n_pages_;
  std::array<std::unordered_map<int32_t, int32_t>, 2> n_let_go_;  // of pages with several references
};

PageCounts PrefixTree::n_evictable() const {
  const std::lock_guard lock(mutex_);
  return Forecast(*this).n_pages();
}

}  // namespace parlance
