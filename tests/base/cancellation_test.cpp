#include "base/cancellation.h"

#include <gtest/gtest.h>

#include <optional>

namespace parlance {
namespace {

TEST(Cancellation, ATicketOfNobodyIsNeverCancelled) {
  const Cancellation none;
  EXPECT_FALSE(none);
  EXPECT_FALSE(none.cancelled());
}

TEST(Cancellation, CancelEndsTheTicketsTakenBeforeAndNoOthers) {
  const CancellationSource source;
  const Cancellation first = source.ticket(), second = source.ticket();
  EXPECT_TRUE(first);
  EXPECT_FALSE(first.cancelled());
  source.cancel();
  EXPECT_TRUE(first.cancelled());
  EXPECT_TRUE(second.cancelled());
  const Cancellation third = source.ticket();
  EXPECT_FALSE(third.cancelled());
  source.cancel();
  EXPECT_TRUE(first.cancelled());
  EXPECT_TRUE(third.cancelled());
}

TEST(Cancellation, APartEndsWithTheWholeAndNotTheOtherWayRound) {
  const CancellationSource whole;
  const Cancellation all = whole.ticket();
  const CancellationSource part(all);
  const Cancellation first = part.ticket();
  part.cancel();
  EXPECT_TRUE(first.cancelled());
  EXPECT_FALSE(all.cancelled());
  const Cancellation second = part.ticket();
  EXPECT_FALSE(second.cancelled());
  whole.cancel();
  EXPECT_TRUE(second.cancelled());
  EXPECT_FALSE(CancellationSource(Cancellation()).ticket().cancelled());
}

TEST(Cancellation, TicketsOutliveTheirSource) {
  std::optional<CancellationSource> source(std::in_place);
  const Cancellation wanted = source->ticket();
  const Cancellation dropped = source->ticket();
  source.reset();
  EXPECT_FALSE(wanted.cancelled());
  EXPECT_FALSE(dropped.cancelled());
}

}  // namespace
}  // namespace parlance
