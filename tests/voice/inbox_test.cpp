#include "voice/inbox.h"

#include <gtest/gtest.h>

#include <thread>

namespace parlance {
namespace {

constexpr std::chrono::microseconds kAtOnce{0};

struct Counting final : TalkPart {
  void report(std::vector<TalkMessage>& news) override {
    ++n_asked;
    news.push_back(SourceOver{});
  }
  int n_asked = 0;
};

TEST(Inbox, APartIsAskedOnceHoweverOftenItHadNews) {
  Inbox inbox;
  Counting part;
  for (int i = 0; i < 100000; ++i) inbox.notify(part);
  inbox.post(HeardSound{});
  EXPECT_FALSE(inbox.is_settled());
  EXPECT_EQ(inbox.take(kAtOnce).size(), 1u);
  EXPECT_EQ(inbox.take(kAtOnce).size(), 1u);
  EXPECT_EQ(part.n_asked, 1);
  inbox.settle(true);
  EXPECT_TRUE(inbox.is_settled());
  EXPECT_TRUE(inbox.take(kAtOnce).empty());
}

// However fast the one posts or the other has news.
TEST(Inbox, WhatIsPostedAndNewsAreHandedOutByTurns) {
  Inbox inbox;
  Counting part;
  for (int i = 0; i < 10; ++i) {
    inbox.post(HeardSound{});
    inbox.notify(part);
    (void)inbox.take(kAtOnce);
    inbox.post(HeardSound{});
    inbox.notify(part);
    (void)inbox.take(kAtOnce);
    EXPECT_EQ(part.n_asked, i + 1);
  }
}

TEST(Inbox, HoldsSoMuchAndSaysSo) {
  Inbox inbox;
  for (size_t i = 0; i < 3 * Inbox::kMostMessages; ++i) inbox.post(HeardSound{});
  const auto mail = inbox.take(kAtOnce);
  EXPECT_EQ(mail.size(), Inbox::kMostMessages + 1);
  const auto* broken = std::get_if<Broken>(&mail.back());
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->error.code, ErrorCode::busy);
}

TEST(Inbox, WhoeverCanWaitForRoomLosesNothing) {
  Inbox inbox;
  constexpr size_t kSounds = 5 * Inbox::kMostMessages;
  std::jthread speaker([&] {
    for (size_t i = 0; i < kSounds; ++i) {
      inbox.wait_for_room();
      inbox.post(HeardSound{});
    }
  });
  size_t n_heard = 0;
  while (n_heard < kSounds) {
    const auto mail = inbox.take(std::chrono::seconds(1));
    ASSERT_FALSE(mail.empty());
    EXPECT_LE(mail.size(), Inbox::kMostMessages);
    n_heard += mail.size();
  }
  inbox.close();
  inbox.wait_for_room();
}

}  // namespace
}  // namespace parlance
