#include "kv/prefix_tree.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace parlance {
namespace {

constexpr int32_t kTreePageTokens = 4;
using Text = std::vector<int32_t>;
using Pages = std::vector<PageRef>;

class PrefixTreeTest : public testing::Test {
 protected:
  static Text text(int32_t first, int32_t n) {
    Text tokens;
    for (int32_t i = 0; i < n; ++i) tokens.push_back(first + i);
    return tokens;
  }
  static Text joined(Text a, const Text& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  Pages take(size_t n_tokens, PageKind kind = PageKind::main) {
    Pages pages((n_tokens + kTreePageTokens - 1) / kTreePageTokens);
    for (PageRef& page : pages) page[kind] = pools_[kind].take().value();
    return pages;
  }
  void release(const Pages& pages) {
    for (const PageRef page : pages) pools_.release(page);
  }
  // As a sequence that computed everything would, and went away.
  void remember(const Text& tokens, PrefixClass prefix_class = PrefixClass::conversation,
                PageKind kind = PageKind::main) {
    PrefixMatch known = tree_.match(tokens);
    Pages pages = take(tokens.size(), kind);
    for (size_t i = 0; i < known.pages.size() && (i + 1) * kTreePageTokens <= static_cast<size_t>(known.n_tokens);
         ++i) {
      pools_.release(pages[i]);
      pages[i] = known.pages[i];
      known.pages[i] = {};
    }
    release(known.pages);
    tree_.insert(tokens, pages, prefix_class);
    release(pages);
  }
  // Without a trace: what is known, but for the moment of its last use.
  int64_t known(const Text& tokens) {
    const PrefixMatch match = tree_.match(tokens);
    release(match.pages);
    return match.n_tokens;
  }
  int32_t n_free(PageKind kind = PageKind::main) const { return pools_[kind].n_free(); }

  PagePools pools_{{64, 64}};
  PrefixTree tree_{pools_, kTreePageTokens};
};

TEST_F(PrefixTreeTest, KnowsNothingAtFirst) {
  const PrefixMatch match = tree_.match(text(1, 5));
  EXPECT_EQ(match.n_tokens, 0);
  EXPECT_TRUE(match.pages.empty());
  EXPECT_EQ(match.n_pending, 0);
  EXPECT_EQ(known({}), 0);
}

TEST_F(PrefixTreeTest, FindsTheLongestBeginningToTheToken) {
  Pages pages = take(10);
  tree_.insert(text(1, 10), pages, PrefixClass::conversation);
  for (int32_t n = 0; n <= 12; ++n) {
    Text asked = text(1, n);
    asked.push_back(99);
    const PrefixMatch match = tree_.match(asked);
    EXPECT_EQ(match.n_tokens, std::min(n, 10));
    EXPECT_EQ(match.pages,
              Pages(pages.begin(), pages.begin() + (std::min(n, 10) + kTreePageTokens - 1) / kTreePageTokens));
    release(match.pages);
  }
  release(pages);
}

TEST_F(PrefixTreeTest, AMatchHoldsItsPages) {
  Pages pages = take(8);
  tree_.insert(text(1, 8), pages, PrefixClass::conversation);
  release(pages);
  const PrefixMatch match = tree_.match(text(1, 5));
  ASSERT_EQ(match.pages.size(), 2u);
  EXPECT_FALSE(tree_.evict({64, 0})) << "two are in use";
  EXPECT_EQ(n_free(), 62);
  release(match.pages);
  EXPECT_TRUE(tree_.evict({64, 0}));
}

// The first 6 tokens are common: the page that holds tokens 4 and 5 is the other branch's for each of them.
TEST_F(PrefixTreeTest, BranchesThatPartInsideAPageHaveTheirOwn) {
  const Text first = text(1, 12);
  const Text second = joined(text(1, 6), text(50, 6));
  Pages a = take(12), b = take(12);
  tree_.insert(first, a, PrefixClass::conversation);
  const Pages before = b;
  tree_.insert(second, b, PrefixClass::conversation);
  EXPECT_EQ(b, (Pages{a[0], before[1], before[2]})) << "the common full page was exchanged";
  EXPECT_EQ(pools_[PageKind::main].holders(before[0].main), 0);
  EXPECT_EQ(tree_.stats().n_nodes, 3);

  const auto pages_of = [&](const Text& tokens) {
    const PrefixMatch match = tree_.match(tokens);
    release(match.pages);
    EXPECT_EQ(match.n_tokens, static_cast<int64_t>(tokens.size()));
    return match.pages;
  };
  EXPECT_EQ(pages_of(first), a);
  EXPECT_EQ(pages_of(second), b);
  EXPECT_EQ(pages_of(text(1, 6)), (Pages{a[0], a[1]}));
  release(a);
  release(b);
  // One branch goes, the other stays whole.
  EXPECT_EQ(pages_of(second), b);
  EXPECT_TRUE(tree_.evict({n_free() + 1, 0}));
  EXPECT_EQ(pages_of(second), b);
  EXPECT_EQ(known(first), 8);
}

// A sequence's last page is published half full, and in the same place full when it has copied and gone on.
TEST_F(PrefixTreeTest, ALongerTextBringsTheFullPage) {
  Pages pages = take(6);
  tree_.insert(text(1, 6), pages, PrefixClass::conversation);
  Pages longer = {pages[0], PageRef{pools_[PageKind::main].take().value(), -1}};
  const int32_t old_last = pages[1].main;
  pools_[PageKind::main].release(old_last);  // it was copied
  EXPECT_EQ(pools_[PageKind::main].holders(old_last), 1);
  tree_.insert(text(1, 8), longer, PrefixClass::conversation);
  EXPECT_EQ(pools_[PageKind::main].holders(old_last), 0) << "nobody needs the half one";
  EXPECT_EQ(tree_.stats().n_nodes, 1) << "published page by page, it is one edge";
  EXPECT_EQ(known(text(1, 8)), 8);
  release(longer);
}

TEST_F(PrefixTreeTest, AHalfPageOfTheCallerIsNotExchanged) {
  Pages pages = take(6), others = take(6);
  tree_.insert(text(1, 6), pages, PrefixClass::conversation);
  const Pages before = others;
  tree_.insert(text(1, 6), others, PrefixClass::conversation);
  EXPECT_EQ(others, (Pages{pages[0], before[1]})) << "it may go on writing into its last page";
  EXPECT_EQ(pools_[PageKind::main].holders(before[1].main), 1);
  release(pages);
  release(others);
}

TEST_F(PrefixTreeTest, EachKindOfAPageIsKeptAsItComes) {
  Pages pages = take(8, PageKind::exact);
  tree_.insert(text(1, 8), pages, PrefixClass::conversation);
  Pages compressed = take(8);
  tree_.insert(text(1, 8), compressed, PrefixClass::conversation);
  const PrefixMatch match = tree_.match(text(1, 8));
  ASSERT_EQ(match.pages.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(match.pages[i], (PageRef{compressed[i].main, pages[i].exact}));
    EXPECT_EQ(compressed[i].exact, -1) << "the caller gets no kind that it gave back";
  }
  release(match.pages);
  release(pages);
  release(compressed);
  EXPECT_EQ(tree_.stats().n_pages, (PageCounts{2, 2}));
  EXPECT_TRUE(tree_.evict({0, 64}));
  EXPECT_EQ(tree_.stats().n_pages, (PageCounts{2, 0}));
  EXPECT_EQ(known(text(1, 8)), 8) << "nothing has to be computed again";
}

TEST_F(PrefixTreeTest, AShorterTextDoesNotLendItsPageToALongerOne) {
  Pages pages = take(8);
  tree_.insert(text(1, 8), pages, PrefixClass::conversation);
  Pages exact = take(6, PageKind::exact);
  tree_.insert(text(1, 6), exact, PrefixClass::conversation);
  const PrefixMatch match = tree_.match(text(1, 8));
  EXPECT_EQ(match.pages[0].exact, exact[0].exact);
  EXPECT_EQ(match.pages[1].exact, -1) << "it holds two of four positions";
  release(match.pages);
  release(pages);
  release(exact);
}

TEST_F(PrefixTreeTest, TheLeastRecentlyUsedGoesFirst) {
  remember(text(100, 8));
  remember(text(200, 8));
  remember(text(300, 8));
  EXPECT_EQ(known(text(100, 8)), 8);
  EXPECT_TRUE(tree_.evict({n_free() + 2, 0}));
  EXPECT_EQ(known(text(200, 8)), 0);
  EXPECT_EQ(known(text(300, 8)), 8);
  EXPECT_EQ(known(text(100, 8)), 8);
}

TEST_F(PrefixTreeTest, LowerClassesGoFirst) {
  remember(text(100, 4), PrefixClass::short_lived);
  remember(text(200, 4), PrefixClass::conversation);
  remember(text(300, 4), PrefixClass::background);
  EXPECT_TRUE(tree_.evict({n_free() + 1, 0}));
  EXPECT_EQ(known(text(300, 4)), 0);
  EXPECT_TRUE(tree_.evict({n_free() + 1, 0}));
  EXPECT_EQ(known(text(100, 4)), 0);
  EXPECT_EQ(known(text(200, 4)), 4);
}

// A conversation behind a background text raises what it stands on, and only that.
TEST_F(PrefixTreeTest, ABeginningIsOfTheClassOfItsBestEnd) {
  remember(text(1, 12), PrefixClass::background);
  remember(text(1, 8), PrefixClass::conversation);
  remember(text(100, 4), PrefixClass::short_lived);
  EXPECT_TRUE(tree_.evict({n_free() + 2, 0}));
  EXPECT_EQ(known(text(100, 4)), 0);
  EXPECT_EQ(known(text(1, 12)), 8);
}

TEST_F(PrefixTreeTest, TextsAreForgottenFromTheirEnds) {
  remember(text(1, 40));
  EXPECT_TRUE(tree_.evict({n_free() + 3, 0}));
  EXPECT_EQ(known(text(1, 40)), 28) << "three pages of ten, and no more";
  remember(joined(text(1, 28), text(500, 2)));
  EXPECT_TRUE(tree_.evict({n_free() + 2, 0}));
  EXPECT_EQ(known(text(1, 40)), 24);
}

TEST_F(PrefixTreeTest, PagesInUseAreLeftAlone) {
  remember(text(100, 16));
  remember(text(200, 4));
  const PrefixMatch running = tree_.match(text(100, 8));
  remember(text(300, 4));
  EXPECT_EQ(known(text(200, 4)), 4);
  EXPECT_TRUE(tree_.evict({n_free() + 3, 0}));
  EXPECT_EQ(known(text(100, 16)), 8) << "what lies behind the running one went first";
  EXPECT_EQ(known(text(300, 4)), 0) << "then others";
  EXPECT_EQ(known(text(200, 4)), 4);
  EXPECT_FALSE(tree_.evict({64, 0}));
  EXPECT_EQ(known(text(100, 16)), 8);
  EXPECT_EQ(known(text(200, 4)), 0);
  release(running.pages);
}

TEST_F(PrefixTreeTest, WhatDoesNotHelpIsNotGivenUp) {
  remember(text(100, 8), PrefixClass::conversation, PageKind::main);
  remember(text(200, 8), PrefixClass::conversation, PageKind::exact);
  EXPECT_TRUE(tree_.evict({0, n_free(PageKind::exact) + 1}));
  EXPECT_EQ(known(text(100, 8)), 8) << "older, but of the other kind";
  EXPECT_EQ(known(text(200, 8)), 4);
}

TEST_F(PrefixTreeTest, APinnedBeginningStays) {
  remember(text(1, 10));
  {
    const PrefixTree::Pin pin = tree_.pin(text(1, 7));
    EXPECT_EQ(pin.n_tokens(), 7);
    EXPECT_FALSE(tree_.evict({64, 64}));
    EXPECT_EQ(known(text(1, 10)), 7);
    remember(text(1, 12));
    EXPECT_FALSE(tree_.evict({64, 64}));
    EXPECT_EQ(known(text(1, 12)), 7);
  }
  EXPECT_TRUE(tree_.evict({64, 64}));
  EXPECT_EQ(tree_.pin(text(1, 7)).n_tokens(), 0) << "nothing is known, so nothing is pinned";
}

TEST_F(PrefixTreeTest, TheBudgetLimitsWhatTheTreeKeeps) {
  tree_.set_budget({5, 64});
  remember(text(100, 12));
  remember(text(200, 12));
  EXPECT_EQ(tree_.stats().n_pages.main, 5);
  EXPECT_EQ(known(text(200, 12)), 12);
  EXPECT_EQ(known(text(100, 12)), 8);
  tree_.set_budget({0, 0});
  EXPECT_EQ(tree_.stats().n_nodes, 0);
  EXPECT_EQ(n_free(), 64);
}

TEST_F(PrefixTreeTest, ManyTextsWithOneBeginningStoreItOnce) {
  const Text system = text(1, 40);
  for (int32_t room = 0; room < 10; ++room) remember(joined(system, text(1000 + 10 * room, 4)));
  EXPECT_EQ(tree_.stats().n_pages.main, 10 + 10);
  EXPECT_EQ(n_free(), 64 - 20);
}

TEST_F(PrefixTreeTest, CountsWhatItDoes) {
  remember(text(1, 8));
  EXPECT_EQ(known(joined(text(1, 6), text(70, 3))), 6);
  ASSERT_TRUE(tree_.evict({n_free() + 1, 0}));
  const PrefixTreeStats stats = tree_.stats();
  EXPECT_EQ(stats.n_tokens_looked_up, 8u + 9u);
  EXPECT_EQ(stats.n_tokens_matched, 6u);
  EXPECT_EQ(stats.n_tokens_inserted, 8u);
  EXPECT_EQ(stats.n_pages_evicted, 1u);
  EXPECT_EQ(stats.n_nodes, 1);
}

// As deep as a context is long, and thrown away: neither may use the call stack.
TEST(PrefixTreeDepth, AContextOfBranches) {
  constexpr int32_t kDepth = 3000;
  PagePools pools({kDepth + 10, 0});
  PrefixTree tree(pools, 1);
  Text tokens(kDepth, 7);
  Pages pages(kDepth);
  for (PageRef& page : pages) page.main = pools[PageKind::main].take().value();
  tree.insert(tokens, pages, PrefixClass::conversation);
  std::vector<PrefixTree::Pin> pins;
  for (int32_t n = kDepth - 1; n > 0; --n)
    pins.push_back(tree.pin(std::span(tokens).first(static_cast<size_t>(n))));
  EXPECT_EQ(tree.stats().n_nodes, kDepth);
  const PrefixMatch match = tree.match(tokens);
  EXPECT_EQ(match.n_tokens, kDepth);
  EXPECT_EQ(match.pages, pages);
  for (const PageRef page : match.pages) pools.release(page);
  for (const PageRef page : pages) pools.release(page);
}

}  // namespace
}  // namespace parlance
