#include "kv/sequence_pages.h"

#include "gtest/gtest.h"

namespace parlance {
namespace {

constexpr int32_t kPageTokens = 4;

class SequencePagesTest : public testing::Test {
 protected:
  SequencePages sequence() { return {pools_, kPageTokens}; }
  PageCounts n_free() const { return pools_.n_free(); }

  PagePools pools_{{8, 8}};
};

TEST_F(SequencePagesTest, GrowsByPagesAndGivesThemBack) {
  {
    SequencePages pages = sequence();
    const auto extension = pages.extend(5, PageKind::exact);
    EXPECT_TRUE(extension.has_room);
    EXPECT_FALSE(extension.copy);
    ASSERT_EQ(pages.pages().size(), 2u);
    EXPECT_EQ(pages.pages()[0].main, -1);
    EXPECT_GE(pages.pages()[0].exact, 0);
    EXPECT_TRUE(pages.extend(8, PageKind::exact).has_room);
    EXPECT_EQ(n_free(), (PageCounts{8, 6}));
    pages.truncate(4);
    EXPECT_EQ(pages.n_tokens(), 4);
    EXPECT_EQ(n_free(), (PageCounts{8, 7}));
  }
  EXPECT_EQ(n_free(), (PageCounts{8, 8}));
}

TEST_F(SequencePagesTest, ARefusedExtensionChangesNothing) {
  SequencePages pages = sequence();
  ASSERT_TRUE(pages.extend(10, PageKind::main).has_room);
  const std::vector<PageRef> before(pages.pages().begin(), pages.pages().end());
  EXPECT_FALSE(pages.extend(33, PageKind::main).has_room);
  EXPECT_EQ(pages.n_tokens(), 10);
  EXPECT_TRUE(std::ranges::equal(pages.pages(), before));
  EXPECT_EQ(n_free().main, 5);
  EXPECT_TRUE(pages.extend(32, PageKind::main).has_room);
}

TEST_F(SequencePagesTest, AForkSharesAndCopiesThePartialPageWhenItWrites) {
  SequencePages first = sequence();
  ASSERT_TRUE(first.extend(6, PageKind::main).has_room);
  SequencePages second = first.fork();
  EXPECT_EQ(n_free().main, 6);
  const PageRef shared = first.pages()[1];

  const auto extension = second.extend(7, PageKind::main);
  ASSERT_TRUE(extension.copy);
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
  ASSERT_TRUE(first.extend(8, PageKind::main).has_room);
  SequencePages second = first.fork();
  const auto extension = second.extend(9, PageKind::main);
  EXPECT_TRUE(extension.has_room);
  EXPECT_FALSE(extension.copy);
}

TEST_F(SequencePagesTest, ACopyThatFindsNoPageIsRefused) {
  SequencePages first = sequence();
  ASSERT_TRUE(first.extend(31, PageKind::main).has_room);
  SequencePages second = first.fork();
  EXPECT_FALSE(second.extend(32, PageKind::main).has_room);
  EXPECT_EQ(second.pages()[7], first.pages()[7]);
}

// What was compressed is read, and written exactly behind.
TEST_F(SequencePagesTest, AnotherKindIsConverted) {
  SequencePages pages = sequence();
  ASSERT_TRUE(pages.extend(6, PageKind::main).has_room);
  const int32_t main = pages.pages()[1].main;
  const auto extension = pages.extend(7, PageKind::exact);
  ASSERT_TRUE(extension.copy);
  EXPECT_EQ(extension.copy->from_kind, PageKind::main);
  EXPECT_EQ(extension.copy->from, main);
  EXPECT_EQ(extension.copy->to_kind, PageKind::exact);
  EXPECT_EQ(pages.pages()[1], (PageRef{-1, extension.copy->to}));
}

TEST_F(SequencePagesTest, AFullPageIsCompressedAndGivenBack) {
  SequencePages pages = sequence();
  ASSERT_TRUE(pages.extend(8, PageKind::exact).has_room);
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
  ASSERT_TRUE(pages.extend(8, PageKind::exact).has_room);
  ASSERT_TRUE(pages.add_main(1));
  pages.truncate(6);
  const auto extension = pages.extend(8, PageKind::exact);
  EXPECT_FALSE(extension.copy);
  EXPECT_EQ(pages.pages()[1].main, -1);
  EXPECT_EQ(n_free(), (PageCounts{8, 6}));
}

TEST_F(SequencePagesTest, GoesOnFromWhatTheTreeKnows) {
  PrefixTree tree(pools_, kPageTokens);
  const std::vector<int32_t> tokens{1, 2, 3, 4, 5, 6};
  {
    SequencePages pages = sequence();
    ASSERT_TRUE(pages.extend(6, PageKind::main).has_room);
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
