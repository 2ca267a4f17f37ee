#include "engine/draft_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

namespace parlance {
namespace {

// Tokens tell their place and rank.
constexpr int32_t token_of(int64_t place, size_t rank) {
  return static_cast<int32_t>(10 * place) + static_cast<int32_t>(rank);
}

DraftChoices random_choices(std::mt19937& random, int64_t n_places, size_t n_choices) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto places = [&](double most) {
    std::vector<std::vector<LikelyToken>> all;
    for (int64_t place = 0; place < n_places; ++place) {
      std::vector<LikelyToken> choices;
      double chance = most * uniform(random), left = 1;
      for (size_t rank = 0; rank < n_choices; ++rank) {
        chance = std::min(chance, left);
        left -= chance;
        choices.push_back({token_of(place, rank), chance});
        chance *= uniform(random);
      }
      all.push_back(std::move(choices));
    }
    return all;
  };
  DraftChoices choices{.behind_first = places(1), .behind_other = places(0.7)};
  return choices;
}

constexpr auto kNoEnd = [](int32_t) { return false; };

double expected(std::span<const DraftNode> tree) {
  double sum = 0;
  for (const DraftNode& node : tree) sum += node.reach;
  return sum;
}

// The most that any tree of n nodes promises, by trying all: a tree is the trees behind each of some choices.
class BruteForce {
 public:
  BruteForce(const DraftChoices& choices) : choices_(choices) {}

  double best(int64_t n, size_t place = 0, bool has_other = false) const {
    const auto& places = has_other ? choices_.behind_other : choices_.behind_first;
    if (n == 0 || place >= places.size()) return 0;
    return best_from(n, place, has_other, 0);
  }

 private:
  // Of n nodes behind one, those of choices from `rank` on: none, or k in what begins with it and the rest in
  // others. Choices need not be taken in order.
  double best_from(int64_t n, size_t place, bool has_other, size_t rank) const {
    const auto& places = has_other ? choices_.behind_other : choices_.behind_first;
    if (n == 0 || rank >= places[place].size()) return 0;
    double most = best_from(n, place, has_other, rank + 1);
    for (int64_t k = 1; k <= n; ++k) {
      const double own = places[place][rank].chance * (1 + best(k - 1, place + 1, has_other || rank > 0));
      most = std::max(most, own + best_from(n - k, place, has_other, rank + 1));
    }
    return most;
  }

  const DraftChoices& choices_;
};

TEST(DraftTree, NoTreeOfAsManyNodesPromisesMore) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const auto n_places = static_cast<int64_t>(1 + random() % 4);
    const DraftChoices choices = random_choices(random, n_places, 1 + random() % 3);
    const DraftTree tree = best_tree(choices, 7, kNoEnd);  // fewer than branches are limited to
    for (size_t n = 1; n <= tree.size(); ++n) {
      const double best = BruteForce(choices).best(static_cast<int64_t>(n));
      ASSERT_NEAR(expected(std::span(tree).first(n)), best, 1e-12)
          << "round " << round << ", " << n << " nodes";
    }
  }
}

// What paths say is what nodes say, whatever is cut off at the end.
TEST(DraftTree, PathsSpellTheNodes) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const DraftTree tree = best_tree(random_choices(random, 8, 4), kMostTreeNodes, kNoEnd);
    ASSERT_LE(std::ssize(tree), kMostTreeNodes);
    const std::vector<int64_t> counts = count_branches(tree);
    for (size_t n = 0; n <= tree.size(); ++n) {
      const auto part = std::span(tree).first(n);
      std::map<std::vector<int32_t>, int> by_nodes, by_paths;
      for (DraftNode node : part) {
        std::vector<int32_t> way = {node.token};
        for (; node.parent >= 0; way.push_back(node.token)) {
          ASSERT_LT(node.parent, static_cast<int64_t>(n));
          node = tree[static_cast<size_t>(node.parent)];
        }
        std::ranges::reverse(way);
        ++by_nodes[way];
      }
      const DraftPaths paths = paths_of(part);
      const auto way_to = [&](auto self, int64_t branch, int64_t end) -> std::vector<int32_t> {
        if (branch < 0) return {paths.trunk.begin(), paths.trunk.begin() + end};
        const DraftBranch& b = paths.branches[static_cast<size_t>(branch)];
        std::vector<int32_t> way = self(self, b.parent, b.place);
        way.insert(way.end(), b.tokens.begin(), b.tokens.begin() + (end - b.place));
        return way;
      };
      for (int64_t end = 1; end <= std::ssize(paths.trunk); ++end) ++by_paths[way_to(way_to, -1, end)];
      for (int64_t b = 0; b < std::ssize(paths.branches); ++b) {
        const DraftBranch& branch = paths.branches[static_cast<size_t>(b)];
        ASSERT_LT(branch.parent, b);
        for (int64_t end = branch.place + 1; end <= branch.end(); ++end) ++by_paths[way_to(way_to, b, end)];
      }
      ASSERT_EQ(by_paths, by_nodes) << "round " << round << ", " << n << " nodes";
      ASSERT_EQ(std::ssize(paths.branches), n == 0 ? 0 : counts[n - 1]);
      ASSERT_LE(std::ssize(paths.branches), kMostTreeBranches);
      for (size_t i = 0; i < paths.trunk.size(); ++i)
        ASSERT_EQ(paths.trunk[i], token_of(static_cast<int64_t>(i), 0));
    }
  }
}

TEST(DraftTree, NothingComesBehindAnEnd) {
  std::mt19937 random(3);
  const DraftChoices choices = random_choices(random, 6, 4);
  const auto is_end = [](int32_t token) { return token % 10 == 1; };
  const DraftTree tree = best_tree(choices, kMostTreeNodes, is_end);
  EXPECT_TRUE(std::ranges::any_of(tree, is_end, &DraftNode::token));
  for (const DraftNode& node : tree) {
    if (node.parent >= 0) {
      EXPECT_FALSE(is_end(tree[static_cast<size_t>(node.parent)].token));
    }
  }
}

TEST(DraftTree, SureChoicesMakeAChain) {
  DraftChoices choices;
  for (int64_t place = 0; place < 5; ++place)
    choices.behind_first.push_back({{token_of(place, 0), 0.99}, {token_of(place, 1), 0.001}});
  choices.behind_other = choices.behind_first;
  const DraftPaths paths = paths_of(best_tree(choices, 5, kNoEnd));
  EXPECT_EQ(paths.trunk.size(), 5u);
  EXPECT_TRUE(paths.branches.empty());
  EXPECT_TRUE(best_tree({}, 5, kNoEnd).empty());
  EXPECT_TRUE(best_tree(choices, 0, kNoEnd).empty());
}

}  // namespace
}  // namespace parlance
