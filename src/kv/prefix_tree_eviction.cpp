// Which pages a prefix tree gives up when memory is short.
#include <algorithm>
#include <unordered_set>

#include "kv/prefix_tree.h"

namespace parlance {

bool PrefixTree::evict(PageCounts n_free) {
  const std::lock_guard lock(mutex_);
  return give_up_pages({Goal::free_pages, n_free});
}

void PrefixTree::set_budget(PageCounts n_pages) {
  const std::lock_guard lock(mutex_);
  budget_ = n_pages;
  give_up_pages({Goal::budget, budget_});
}

void PrefixTree::set_state_budget(size_t n_bytes) {
  const std::lock_guard lock(mutex_);
  state_budget_ = n_bytes;
  give_up_states(state_budget_);
}

// Pages of a kind that are still to be given up.
int32_t PrefixTree::missing(const Goal& goal, PageKind kind) const {
  if (goal.what == Goal::budget) return stats_.n_pages[kind] - goal.n_pages[kind];
  return goal.n_pages[kind] - pools_[kind].n_free();
}

bool PrefixTree::reached(const Goal& goal) const {
  return missing(goal, PageKind::main) <= 0 && missing(goal, PageKind::exact) <= 0;
}

// Whether giving up the page helps: one that others hold too would not become free.
bool PrefixTree::removable(const Goal& goal, PageKind kind, int32_t page) const {
  if (goal.what == Goal::budget) return true;
  return pools_[kind].holders(page) == references(kind, page);
}

bool PrefixTree::removable(const Goal& goal, PageRef ref) const {
  return std::ranges::all_of(
      kPageKinds, [&](PageKind kind) { return ref[kind] < 0 || removable(goal, kind, ref[kind]); });
}

// From which page on a leaf would have to be cut so that all its pages of a missing kind are won. The number
// of its pages when there are none.
size_t PrefixTree::first_gain(const Goal& goal, const Node& leaf) const {
  size_t first = leaf.pages.size();
  for (size_t i = leaf.pages.size(); i-- > 0 && removable(goal, leaf.pages[i]);) {
    for (const PageKind kind : kPageKinds) {
      const int32_t page = leaf.pages[i][kind];
      if (page < 0 || missing(goal, kind) <= 0) continue;
      if (references(kind, page) == 1) first = i;
    }
  }
  return first;
}

// Whether the goal was reached. Class by class, leaves that have what is missing are cut first. If that is
// not enough, others are, since what lies above them can only go when they have gone.
bool PrefixTree::give_up_pages(const Goal& goal) {
  if (reached(goal)) return true;
  give_up_exact_copies(goal);
  give_up_partial_copies(goal);
  for (std::list<Node>& nodes : nodes_) {
    for (const bool only_gains : {true, false}) {
      for (auto it = nodes.begin(); it != nodes.end() && !reached(goal);) trim(*it++, goal, only_gains);
    }
  }
  give_up_partial_copies(goal);
  return reached(goal);
}

// Exact pages whose content is in a main one too: nothing has to be computed again without them.
void PrefixTree::give_up_exact_copies(const Goal& goal) {
  for (std::list<Node>& nodes : nodes_) {
    for (Node& node : nodes) {
      for (PageRef& page : node.pages) {
        if (missing(goal, PageKind::exact) <= 0) return;
        if (page.main < 0 || page.exact < 0 || !removable(goal, PageKind::exact, page.exact)) continue;
        give_back(page, PageKind::exact);
        count_evicted(node);
      }
    }
  }
}

// Pages that hold the end of a text in the middle of a page, where a longer text's page has these positions
// too. Several texts that end in the same page share one; the longest come first, so it is free when all have
// changed.
void PrefixTree::give_up_partial_copies(const Goal& goal) {
  for (std::list<Node>& nodes : nodes_) {
    for (Node& node : nodes) {
      if (reached(goal)) return;
      if (node.children.empty() || node.end() % page_tokens_ == 0) continue;
      PageRef& slot = node.pages.back();
      const PageRef longer = node.children.begin()->second->pages.front();
      const bool helps = std::ranges::any_of(kPageKinds, [&](PageKind kind) {
        return slot[kind] >= 0 && missing(goal, kind) > 0 && slot[kind] != longer[kind];
      });
      if (!helps || !removable(goal, slot)) continue;
      for (const PageKind kind : kPageKinds) {
        if (slot[kind] >= 0 && references(kind, slot[kind]) == 1) count_evicted(node);
        give_back(slot, kind);
        if (longer[kind] >= 0) keep(slot, kind, longer[kind]);
      }
    }
  }
}

// Takes pages from the end of a leaf, as far as they may go and are needed.
void PrefixTree::trim(Node& leaf, const Goal& goal, bool only_gains) {
  if (!leaf.children.empty() || leaf.n_pins > 0) return;
  const size_t n_kept = only_gains ? first_gain(goal, leaf) : 0;
  while (leaf.pages.size() > n_kept && !reached(goal) && removable(goal, leaf.pages.back())) {
    if (!remove_last_page(leaf)) return;
  }
}

// Cuts a leaf's tokens to where its last page begins. False when that was all of it, and the node has gone.
bool PrefixTree::remove_last_page(Node& leaf) {
  for (const PageKind kind : kPageKinds) {
    if (leaf.pages.back()[kind] < 0) continue;
    give_back(leaf.pages.back(), kind);
    count_evicted(leaf);
  }
  leaf.pages.pop_back();
  const auto n_left = static_cast<int64_t>(leaf.pages.size());
  const int64_t end = n_left > 0 ? (page_of(leaf.begin) + n_left) * page_tokens_ : leaf.begin;
  while (!leaf.states.empty() && leaf.states.back().position > end) drop_state(leaf, leaf.states.size() - 1);
  if (n_left > 0) {
    leaf.tokens.resize(static_cast<size_t>(end - leaf.begin));
    leaf.content.resize(static_cast<size_t>(count_content(leaf.tokens)));
    return true;
  }
  leaf.parent->children.erase(edge_of(leaf.text()));
  nodes_of(leaf.prefix_class).erase(leaf.self);
  stats_.n_nodes -= 1;
  return false;
}

// Drops copies of states until the rest takes no more than n_bytes, as far as pins allow: what a pinned text
// would be gone on from stays.
void PrefixTree::give_up_states(size_t n_bytes) {
  if (stats_.state_bytes <= n_bytes) return;
  struct Candidate {
    PrefixClass prefix_class;
    uint64_t last_use;
    Node* node;
    int64_t position;
  };
  std::vector<Candidate> candidates;
  std::unordered_set<uint64_t> pinned;  // by last use, which no two have in common
  for (std::list<Node>& nodes : nodes_) {
    for (Node& node : nodes) {
      for (const StateAt& state : node.states) {
        candidates.push_back({node.prefix_class, state.last_use, &node, state.position});
      }
      if (node.n_pins == 0) continue;
      if (const StateAt* const state = last_state(&node, node.end())) pinned.insert(state->last_use);
    }
  }
  std::ranges::sort(candidates, {}, [](const Candidate& c) { return std::pair(c.prefix_class, c.last_use); });
  for (const Candidate& c : candidates) {
    if (stats_.state_bytes <= n_bytes) return;
    if (pinned.contains(c.last_use)) continue;
    const auto state = std::ranges::find(c.node->states, c.position, &StateAt::position);
    drop_state(*c.node, static_cast<size_t>(state - c.node->states.begin()));
  }
}

void PrefixTree::drop_state(Node& node, size_t i) {
  stats_.n_states -= 1;
  stats_.state_bytes -= node.states[i].states->size();
  stats_.n_states_evicted += 1;
  node.states.erase(node.states.begin() + static_cast<std::ptrdiff_t>(i));
}

}  // namespace parlance
