// Trees of drafted tokens: beside a drafter's first choice in each place of a draft, others that may be right
// where that is not (DDTree, arXiv 2604.12989).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"

namespace parlance {

// The most nodes of a tree.
inline constexpr int64_t kMostTreeNodes = 25;
// The most branches of a tree: each takes pages of its own while it is verified.
inline constexpr int64_t kMostTreeBranches = 7;
// The most of all trees that are verified in one step, and the runs of positions that they have in common
// with what they leave: one for each way between a branch and the trunk.
inline constexpr int64_t kMostBranchesAtOnce = 15;
inline constexpr int64_t kMostSharedRuns = 64;
// Choices in each place of a draft, the first included.
inline constexpr int64_t kTreeChoices = 4;

// A token that may come next, and how likely it is that the model says it.
struct LikelyToken {
  int32_t token;
  double chance;
};

// By place of a draft, the drafter's choices, the likeliest first, as a block drafter yields them: not
// knowing what stands before them in the draft.
struct DraftChoices {
  std::vector<std::vector<LikelyToken>> behind_first;  // where first choices alone stand before
  std::vector<std::vector<LikelyToken>> behind_other;  // where another choice stands before
};

struct DraftNode {
  int64_t parent;  // in the tree; -1: the text itself
  int64_t place;   // nodes before it on its way
  int32_t token;
  double reach;  // the chance that it is said, and all before it
};

// In order of falling reach; a node's first choice is before the others, and all are behind their parent.
// Every beginning of it is a tree too: the one, of so many nodes, from which most tokens are said.
using DraftTree = std::vector<DraftNode>;

// At most n_most nodes and kMostTreeBranches branches. Nothing comes behind a token that `is_end`.
DraftTree best_tree(const DraftChoices& choices, int64_t n_most, FunctionRef<bool(int32_t token)> is_end);

// A way that leaves another one.
struct DraftBranch {
  int64_t parent;               // the branch that it leaves; -1: the trunk
  int64_t place;                // of its first token
  std::vector<int32_t> tokens;  // its own

  int64_t end() const { return place + static_cast<int64_t>(tokens.size()); }
};

// A tree as a trunk, the first choices, and branches behind those that they leave.
struct DraftPaths {
  std::vector<int32_t> trunk;
  std::vector<DraftBranch> branches;
};
DraftPaths paths_of(std::span<const DraftNode> tree);

// Of the first node, the first two and so on: how many branches there are.
std::vector<int64_t> count_branches(std::span<const DraftNode> tree);

}  // namespace parlance
