#include "engine/draft_tree.h"

#include <algorithm>
#include <queue>

namespace parlance {

namespace {

// A node that may be the next one of a tree.
struct Candidate {
  DraftNode node;
  size_t rank;  // among the choices in its place
  bool has_other_before;
  int64_t order;

  bool operator<(const Candidate& other) const {  // queues give out the greatest
    return node.reach != other.node.reach ? node.reach < other.node.reach : order > other.order;
  }
};

}  // namespace

// Best first: what a node may be followed or replaced by is never likelier than itself.
DraftTree best_tree(const DraftChoices& choices, int64_t n_most, FunctionRef<bool(int32_t token)> is_end) {
  DraftTree tree;
  std::priority_queue<Candidate> open;
  int64_t n_opened = 0, n_branches = 0;
  const auto try_opening = [&](int64_t parent, int64_t place, size_t rank, bool has_other_before) {
    const auto& places = has_other_before ? choices.behind_other : choices.behind_first;
    if (place >= std::ssize(places) || rank >= places[static_cast<size_t>(place)].size()) return;
    const LikelyToken& choice = places[static_cast<size_t>(place)][rank];
    const double before = parent < 0 ? 1 : tree[static_cast<size_t>(parent)].reach;
    open.push({{parent, place, choice.token, before * choice.chance}, rank, has_other_before, n_opened++});
  };
  try_opening(-1, 0, 0, false);
  while (!open.empty() && std::ssize(tree) < n_most) {
    const Candidate best = open.top();
    open.pop();
    if (best.rank > 0 && n_branches == kMostTreeBranches) continue;
    n_branches += best.rank > 0 ? 1 : 0;
    tree.push_back(best.node);
    if (!is_end(best.node.token))
      try_opening(std::ssize(tree) - 1, best.node.place + 1, 0, best.has_other_before || best.rank > 0);
    try_opening(best.node.parent, best.node.place, best.rank + 1, best.has_other_before);
  }
  return tree;
}

DraftPaths paths_of(std::span<const DraftNode> tree) {
  DraftPaths paths;
  std::vector<int64_t> path_of;                    // each node's: -1 is the trunk
  std::vector<bool> is_followed(tree.size() + 1);  // by a node on the same path; the text itself is the first
  for (const DraftNode& node : tree) {
    const auto parent = static_cast<size_t>(node.parent + 1);
    int64_t path = node.parent < 0 ? -1 : path_of[static_cast<size_t>(node.parent)];
    if (is_followed[parent]) {
      paths.branches.push_back({path, node.place, {}});
      path = std::ssize(paths.branches) - 1;
    }
    is_followed[parent] = true;
    path_of.push_back(path);
    (path < 0 ? paths.trunk : paths.branches[static_cast<size_t>(path)].tokens).push_back(node.token);
  }
  return paths;
}

std::vector<int64_t> count_branches(std::span<const DraftNode> tree) {
  std::vector<int64_t> counts;
  std::vector<bool> is_followed(tree.size() + 1);
  int64_t n = 0;
  for (const DraftNode& node : tree) {
    const auto parent = static_cast<size_t>(node.parent + 1);
    n += is_followed[parent] ? 1 : 0;
    is_followed[parent] = true;
    counts.push_back(n);
  }
  return counts;
}

}  // namespace parlance
