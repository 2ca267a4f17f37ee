// Texts of different spaces: equal tokens, and nothing in common.
#include <algorithm>

#include "gtest/gtest.h"
#include "kv/prefix_tree.h"
#include "kv/sequence_pages.h"

namespace parlance {
namespace {

constexpr int32_t kSpacePageTokens = 4;
constexpr ContentHash kHome{1, 2}, kOffice{3, 4};

class PrefixSpaces : public testing::Test {
 protected:
  static PrefixKey in(const ContentHash& space, const std::vector<int32_t>& tokens) {
    return {tokens, {}, space};
  }
  void remember(const PrefixKey& text) {
    SequencePages sequence(pools_, kSpacePageTokens);
    ASSERT_EQ(sequence.extend(text.n_tokens(), PageKind::main).outcome, SequencePages::Extension::done);
    sequence.publish(tree_, text, PrefixClass::conversation);
  }
  int64_t known(const PrefixKey& text) {
    const PrefixMatch match = tree_.match(text);
    for (const PageRef page : match.pages) pools_.release(page);
    return match.n_tokens;
  }

  PagePools pools_{{64, 64}};
  PrefixTree tree_{pools_, kSpacePageTokens};
  const std::vector<int32_t> text_ = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::vector<int32_t> fork_ = {1, 2, 3, 4, 5, 6, 70, 80};
};

TEST_F(PrefixSpaces, NoneFindsWhatAnotherHasComputed) {
  remember(in(kHome, text_));
  EXPECT_EQ(known(in(kHome, text_)), 10);
  EXPECT_EQ(known(in(kOffice, text_)), 0);
  EXPECT_EQ(known(text_), 0);
  remember(in(kOffice, fork_));
  remember(fork_);
  EXPECT_EQ(known(in(kHome, text_)), 10);
  EXPECT_EQ(known(in(kHome, fork_)), 6);
  EXPECT_EQ(known(in(kOffice, text_)), 6);
  EXPECT_EQ(tree_.stats().n_pages.main, 3 + 2 + 2) << "pages are nobody else's";
}

TEST_F(PrefixSpaces, TextsThatPartStayInTheirs) {
  remember(in(kHome, text_));
  remember(in(kHome, fork_));
  remember(in(kOffice, text_));
  const PrefixTree::Pin pin = tree_.pin(in(kOffice, fork_));
  EXPECT_EQ(pin.n_tokens(), 6);
  EXPECT_EQ(known(in(kHome, fork_)), 8);
  EXPECT_EQ(known(in(kOffice, fork_)), 6);
  tree_.evict({64, 64});
  EXPECT_EQ(known(in(kHome, text_)), 0);
  EXPECT_EQ(known(in(kOffice, text_)), 6) << "what is pinned stays";
  remember(in(kHome, text_));
  EXPECT_EQ(known(in(kHome, text_)), 10) << "its branch was taken off the root, and not another's";
}

TEST_F(PrefixSpaces, NobodyWaitsForAnother) {
  const auto claim = tree_.announce(in(kHome, text_));
  EXPECT_EQ(tree_.match(in(kOffice, text_)).n_pending, 0);
  EXPECT_EQ(tree_.match(in(kHome, text_)).n_pending, 10);
  const auto wait = [&](const PrefixKey& text) {
    return tree_.wait(text, nullptr, std::chrono::milliseconds(0), [] { return false; });
  };
  EXPECT_EQ(wait(in(kOffice, text_)), PrefixWait::ready);
  EXPECT_EQ(wait(in(kHome, text_)), PrefixWait::timed_out);
}

}  // namespace
}  // namespace parlance
