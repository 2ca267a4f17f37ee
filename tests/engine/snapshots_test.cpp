#include "engine/snapshots.h"

#include "gtest/gtest.h"

namespace parlance {
namespace {

std::vector<int64_t> positions(const Snapshots& snapshots, int64_t n_tokens) {
  std::vector<int64_t> found;
  for (const Snapshot* s = snapshots.latest(n_tokens); s; s = snapshots.latest(s->n_tokens - 1)) {
    found.insert(found.begin(), s->n_tokens);
  }
  return found;
}

StateCopy states(int value) {
  return std::make_shared<const std::vector<std::byte>>(4, static_cast<std::byte>(value));
}

TEST(Snapshots, WithoutStatesNothingIsKept) {
  const Snapshots none(0);
  EXPECT_EQ(none.capacity(), 0u);
  EXPECT_FALSE(none.is_due(1 << 20));
  EXPECT_FALSE(none.is_worth_a_batch(1 << 20));
  EXPECT_EQ(none.latest(1 << 20), nullptr);
}

TEST(Snapshots, LargeStatesAreKeptLessOften) {
  EXPECT_EQ(Snapshots(size_t{20} << 20).capacity(), 8u);
  EXPECT_EQ(Snapshots(size_t{150} << 20).capacity(), 3u);
  EXPECT_EQ(Snapshots(size_t{2} << 30).capacity(), 2u);
}

TEST(Snapshots, TheLatestAtOrBeforeAPositionIsFound) {
  Snapshots snapshots(4);
  snapshots.add(100, states(1));
  snapshots.add(200, states(2));
  EXPECT_EQ(snapshots.latest(99), nullptr);
  EXPECT_EQ(snapshots.latest(100)->n_tokens, 100);
  EXPECT_EQ(*snapshots.latest(199)->states, *states(1));
  EXPECT_EQ(*snapshots.latest(1000)->states, *states(2));
  snapshots.truncate(199);
  EXPECT_EQ(snapshots.latest(1000)->n_tokens, 100);
  snapshots.truncate(0);
  EXPECT_EQ(snapshots.latest(1000), nullptr);
}

TEST(Snapshots, AreDueAfterAWhile) {
  Snapshots snapshots(4);
  EXPECT_FALSE(snapshots.is_due(255));
  EXPECT_TRUE(snapshots.is_due(256));
  snapshots.add(300, states(0));
  EXPECT_FALSE(snapshots.is_due(555));
  EXPECT_TRUE(snapshots.is_due(556));
  EXPECT_FALSE(snapshots.is_worth_a_batch(363));
  EXPECT_TRUE(snapshots.is_worth_a_batch(364));
}

// A long text is covered evenly, and the newest is always there.
TEST(Snapshots, NoGapGrowsBeyondTwiceWhatItMust) {
  Snapshots snapshots(4);
  for (int64_t n_tokens = 256; n_tokens <= 1 << 16; n_tokens += 256) {
    snapshots.add(n_tokens, states(0));
    const auto kept = positions(snapshots, n_tokens);
    ASSERT_LE(kept.size(), snapshots.capacity());
    EXPECT_EQ(kept.back(), n_tokens);
    int64_t before = 0;
    for (const int64_t position : kept) {
      EXPECT_LE(position - before, std::max<int64_t>(512, n_tokens / 4));
      before = position;
    }
  }
}

}  // namespace
}  // namespace parlance
