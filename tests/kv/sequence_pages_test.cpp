#include "kv/sequence_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "gtest/gtest.h"

namespace parlance {
namespace {

constexpr int32_t kTokensOfPage = 4;

class SequencePagesTest : public testing::Test {
 protected:
  SequencePages sequence() { return {pools_, kTokensOfPage}; }
  PageCounts n_free() const { return pools_.n_free(); }
  static bool grows(SequencePages& pages, int64_t n_tokens, PageKind kind) {
    return pages.extend(n_tokens, kind).outcome == SequencePages::Extension::done;
  }

  PagePools pools_{{8, 8}};
};

TEST_F(SequencePagesTest, GrowsByPagesAndGivesThemBack) {
  {
    SequencePages pages = sequence();
    const auto extension = pages.extend(5, PageKind::exact);
    EXPECT_EQ(extension.outcome, SequencePages::Extension::done);
    EXPECT_FALSE(extension.copy);
    ASSERT_EQ(pages.pages().size(), 2u);
    EXPECT_EQ(pages.pages()[0].main, -1);
    EXPECT_GE(pages.pages()[0].exact, 0);
    EXPECT_TRUE(grows(pages, 8, PageKind::exact));
    EXPECT_EQ(n_free(), (PageCounts{8, 6}));
    pages.truncate(4);
    EXPECT_EQ(pages.n_tokens(), 4);
    EXPECT_EQ(n_free(), (PageCounts{8, 7}));
  }
  EXPECT_EQ(n_free(), (PageCounts{8, 8}));
}

// One more position costs nothing where it lies in a page that is begun, and nobody else has.
TEST_F(SequencePagesTest, SaysWhereItMayGoOn) {
  for (const PageKind kind : kPageKinds) {
    SequencePages pages = sequence();
    EXPECT_FALSE(pages.is_own_at(0, kind));
    for (int64_t n = 1; n <= 10; ++n) {
      ASSERT_TRUE(grows(pages, n, kind));
      EXPECT_EQ(pages.is_own_at(n, kind), n % kTokensOfPage != 0) << n;
      EXPECT_FALSE(pages.is_own_at(n, kind == PageKind::main ? PageKind::exact : PageKind::main)) << n;
      EXPECT_FALSE(pages.is_own_at(n + kTokensOfPage, kind)) << n;
      const SequencePages fork = pages.fork();
      EXPECT_FALSE(pages.is_own_at(n, kind)) << n;
      EXPECT_FALSE(fork.is_own_at(n, kind)) << n;
    }
  }
}

TEST_F(SequencePagesTest, ARefusedExtensionChangesNothing) {
  SequencePages pages = sequence();
  ASSERT_TRUE(grows(pages, 10, PageKind::main));
  const std::vector<PageRef> before(pages.pages().begin(), pages.pages().end());
  EXPECT_EQ(pages.extend(33, PageKind::main).outcome, SequencePages::Extension::no_room);
  EXPECT_EQ(pages.n_tokens(), 10);
  EXPECT_TRUE(std::ranges::equal(pages.pages(), before));
  EXPECT_EQ(n_free().main, 5);
  EXPECT_TRUE(grows(pages, 32, PageKind::main));
}

TEST_F(SequencePagesTest, AForkSharesAndCopiesThePartialPageWhenItWrites) {
  SequencePages first = sequence();
  ASSERT_TRUE(grows(first, 6, PageKind::main));
  SequencePages second = first.fork();
  EXPECT_EQ(n_free().main, 6);
  const PageRef shared = first.pages()[1];

  const auto extension = second.extend(7, PageKind::main);
  ASSERT_TRUE(extension.copy);
  EXPECT_EQ(extension.copy->kind, PageKind::main);
  EXPECT_EQ(extension.copy->from, shared.main);
  EXPECT_EQ(extension.copy->to, second.pages()[1].main);
  EXPECT_NE(extension.copy->to, shared.main);
  EXPECT_EQ(extension.copy->n_tokens, 2);
  EXPECT_EQ(second.pages()[0], first.pages()[0]);
  EXPECT_EQ(pools_[PageKind::main].holders(shared.main), 2) << "until the copy is made";
  second.truncate(7);
  EXPECT_EQ(pools_[PageKind::main].holders(shared.main), 1);
  EXPECT_FALSE(first.extend(8, PageKind::main).copy) << "it is alone with its page now";
}

TEST_F(SequencePagesTest, NothingIsCopiedAtAPageBoundary) {
  SequencePages first = sequence();
  ASSERT_TRUE(grows(first, 8, PageKind::main));
  SequencePages second = first.fork();
  const auto extension = second.extend(9, PageKind::main);
  EXPECT_EQ(extension.outcome, SequencePages::Extension::done);
  EXPECT_FALSE(extension.copy);
}

TEST_F(SequencePagesTest, ACopyThatFindsNoPageIsRefused) {
  SequencePages first = sequence();
  ASSERT_TRUE(grows(first, 31, PageKind::main));
  SequencePages second = first.fork();
  EXPECT_EQ(second.extend(32, PageKind::main).outcome, SequencePages::Extension::no_room);
  EXPECT_EQ(second.pages()[7], first.pages()[7]);
}

// At every position of a page, for every combination of what is there and what is written: a sequence goes on
// where its last page has the kind, and else says where to cut, and does go on from there.
TEST_F(SequencePagesTest, GoesOnOnlyInPagesOfTheKindThatIsWritten) {
  for (const PageKind held : kPageKinds) {
    for (const bool has_both : {false, true}) {
      for (const PageKind written : kPageKinds) {
        for (int64_t n = 1; n <= 2 * kTokensOfPage; ++n) {
          SCOPED_TRACE(
              fmt::format("{} {} {} {}", static_cast<int>(held), has_both, static_cast<int>(written), n));
          SequencePages pages = sequence();
          ASSERT_TRUE(grows(pages, n, held));
          if (has_both && held == PageKind::exact) {
            ASSERT_TRUE(pages.add_main(pages.pages().size() - 1));
          }
          const bool has_kind = held == written || (has_both && held == PageKind::exact);
          const int64_t usable = has_kind ? n : n - n % kTokensOfPage;
          EXPECT_EQ(pages.usable(n, {.written = written, .n_exact_first = 0}), usable);

          const std::vector<PageRef> before(pages.pages().begin(), pages.pages().end());
          const PageCounts free_before = n_free();
          if (usable < n) {
            EXPECT_EQ(pages.extend(n + 1, written).outcome, SequencePages::Extension::wrong_kind);
            EXPECT_TRUE(std::ranges::equal(pages.pages(), before));
            EXPECT_EQ(pages.n_tokens(), n);
            EXPECT_EQ(n_free(), free_before);
            pages.truncate(usable);
          }
          const auto extension = pages.extend(n + 1, written);
          EXPECT_EQ(extension.outcome, SequencePages::Extension::done);
          EXPECT_FALSE(extension.copy);
          EXPECT_GE(pages.pages().back()[written], 0);
        }
      }
    }
  }
}

// The first pages are read as exact ones: a sequence without one of them begins there again.
TEST_F(SequencePagesTest, TheFirstPagesMustBeExact) {
  const PageRules rules{.written = PageKind::exact, .n_exact_first = 2};
  for (int64_t n_exact = 0; n_exact <= 3; ++n_exact) {
    for (int64_t n = 0; n <= 3 * kTokensOfPage; ++n) {
      SequencePages pages = sequence();
      const int64_t n_exact_tokens = std::min(n, n_exact * kTokensOfPage);
      ASSERT_TRUE(grows(pages, n_exact_tokens, PageKind::exact));
      ASSERT_TRUE(grows(pages, n, PageKind::main));
      int64_t expected = n - (n > n_exact_tokens ? n % kTokensOfPage : 0);
      if (n > n_exact_tokens && n_exact < rules.n_exact_first) expected = n_exact_tokens;
      EXPECT_EQ(pages.usable(n, rules), expected) << n_exact << " exact pages, " << n << " tokens";
      for (int64_t shorter = 0; shorter <= expected; ++shorter) {
        EXPECT_LE(pages.usable(shorter, rules), shorter);
        if (shorter % kTokensOfPage == 0) {
          EXPECT_EQ(pages.usable(shorter, rules), shorter);
        }
      }
    }
  }
}

TEST_F(SequencePagesTest, AFullPageIsCompressedAndGivenBack) {
  SequencePages pages = sequence();
  ASSERT_TRUE(grows(pages, 8, PageKind::exact));
  const auto twin = pages.add_main(0);
  ASSERT_TRUE(twin);
  EXPECT_TRUE(twin->is_new);
  EXPECT_FALSE(pages.add_main(0)->is_new);
  pages.drop_exact(0);
  EXPECT_EQ(pages.pages()[0], (PageRef{twin->main, -1}));
  EXPECT_EQ(n_free(), (PageCounts{7, 7}));
  pages.drop_exact(0);  // again is nothing
}

// A page that was cut after it was compressed: what is written next would be missing in the other half.
TEST_F(SequencePagesTest, AStaleTwinIsGivenBack) {
  SequencePages pages = sequence();
  ASSERT_TRUE(grows(pages, 8, PageKind::exact));
  ASSERT_TRUE(pages.add_main(1));
  pages.truncate(6);
  const auto extension = pages.extend(8, PageKind::exact);
  EXPECT_FALSE(extension.copy);
  EXPECT_EQ(pages.pages()[1].main, -1);
  EXPECT_EQ(n_free(), (PageCounts{8, 6}));
}

TEST_F(SequencePagesTest, GoesOnFromWhatTheTreeKnows) {
  PrefixTree tree(pools_, kTokensOfPage);
  const std::vector<int32_t> tokens{1, 2, 3, 4, 5, 6};
  {
    SequencePages pages = sequence();
    ASSERT_TRUE(grows(pages, 6, PageKind::main));
    pages.publish(tree, tokens, PrefixClass::conversation);
    EXPECT_TRUE(pages.extend(7, PageKind::main).copy) << "the tree keeps the published page";
  }
  SequencePages next = sequence();
  next.adopt(tree.match(tokens));
  EXPECT_EQ(next.n_tokens(), 6);
  const auto extension = next.extend(9, PageKind::main);
  ASSERT_TRUE(extension.copy);
  EXPECT_EQ(extension.copy->n_tokens, 2);
  EXPECT_EQ(n_free().main, 8 - 2 - 2);
}

}  // namespace
}  // namespace parlance
