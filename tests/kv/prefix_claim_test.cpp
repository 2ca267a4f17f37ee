// Two requests with the same beginning compute it once: who announced it first computes, others wait.
#include <atomic>
#include <optional>
#include <thread>

#include "gtest/gtest.h"
#include "kv/sequence_pages.h"

namespace parlance {
namespace {

using namespace std::chrono_literals;

constexpr int32_t kPageTokens = 4;
using Text = std::vector<int32_t>;

Text text(int32_t first, int32_t n) {
  Text tokens;
  for (int32_t i = 0; i < n; ++i) tokens.push_back(first + i);
  return tokens;
}

class PrefixClaims : public testing::Test {
 protected:
  // Tokens of `asked` that are known and that are pending, for who has the claim.
  std::pair<int64_t, int64_t> look(const Text& asked, const PrefixTree::Claim* own = nullptr) {
    const PrefixMatch match = tree_.match(asked, own);
    for (const PageRef page : match.pages) pools_.release(page);
    return {match.n_tokens, match.n_pending};
  }
  void remember(const Text& tokens) {
    SequencePages sequence(pools_, kPageTokens);
    ASSERT_EQ(sequence.extend(static_cast<int64_t>(tokens.size()), PageKind::main).outcome,
              SequencePages::Extension::done);
    sequence.publish(tree_, tokens, PrefixClass::conversation);
  }
  PrefixWait wait(const Text& tokens, const PrefixTree::Claim* own, std::chrono::milliseconds timeout) {
    return tree_.wait(tokens, own, timeout, [] { return false; });
  }

  PagePools pools_{{256, 256}};
  PrefixTree tree_{pools_, kPageTokens};
};

using Known = std::pair<int64_t, int64_t>;

TEST_F(PrefixClaims, AnAnnouncedTextIsPendingUntilItIsThere) {
  const PrefixTree::Claim claim = tree_.announce(text(1, 10));
  EXPECT_EQ(look(text(1, 10)), (Known{0, 10}));
  EXPECT_EQ(look(text(1, 20)), (Known{0, 10}));
  EXPECT_EQ(look(text(1, 7)), (Known{0, 4})) << "pages are published when they are full";
  EXPECT_EQ(look(text(1, 3)), (Known{0, 0}));
  EXPECT_EQ(look(text(2, 10)), (Known{0, 0}));
  remember(text(1, 8));
  EXPECT_EQ(look(text(1, 20)), (Known{8, 2}));
  remember(text(1, 10));
  EXPECT_EQ(look(text(1, 20)), (Known{10, 0}));
}

TEST_F(PrefixClaims, ADroppedClaimPromisesNothing) {
  std::optional claim = tree_.announce(text(1, 8));
  PrefixTree::Claim moved = std::move(*claim);
  claim.reset();
  EXPECT_EQ(look(text(1, 8)), (Known{0, 8}));
  moved = {};
  EXPECT_EQ(look(text(1, 8)), (Known{0, 0}));
}

TEST_F(PrefixClaims, OnlyOlderClaimsAreWaitedFor) {
  const PrefixTree::Claim first = tree_.announce(text(1, 12));
  const PrefixTree::Claim second = tree_.announce(text(1, 12));
  EXPECT_EQ(look(text(1, 12), &first), (Known{0, 0}));
  EXPECT_EQ(look(text(1, 12), &second), (Known{0, 12}));
  EXPECT_EQ(wait(text(1, 12), &first, 0ms), PrefixWait::ready);
  EXPECT_EQ(wait(text(1, 12), &second, 1ms), PrefixWait::timed_out);
}

TEST_F(PrefixClaims, AWaiterCanBeCancelled) {
  const PrefixTree::Claim claim = tree_.announce(text(1, 12));
  std::atomic<bool> cancelled = false;
  std::thread canceller([&] {
    std::this_thread::sleep_for(10ms);
    cancelled = true;
  });
  EXPECT_EQ(tree_.wait(text(1, 12), nullptr, 60s, [&] { return cancelled.load(); }), PrefixWait::cancelled);
  canceller.join();
}

TEST_F(PrefixClaims, AWaiterGoesOnWhenTheClaimIsDropped) {
  std::optional claim = tree_.announce(text(1, 12));
  std::thread other([&] {
    std::this_thread::sleep_for(10ms);
    claim.reset();
  });
  EXPECT_EQ(wait(text(1, 12), nullptr, 60s), PrefixWait::ready);
  other.join();
  EXPECT_EQ(look(text(1, 12)), (Known{0, 0})) << "so it computes by itself";
}

// Many threads ask for the same texts at once, each as a request would: announce, wait, take what is known,
// compute the rest page by page. Each page is computed once, and nobody waits for ever.
TEST_F(PrefixClaims, ThreadsWithTheSameTextComputeItOnce) {
  constexpr int32_t kCommon = 40, kOwn = 8;
  constexpr int kThreads = 4, kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int64_t> n_computed = 0;
    const auto request = [&](int32_t thread) {
      Text tokens = text(1000 * round, kCommon);
      const Text own = text(1000 * round + 100 * (1 + thread), kOwn);
      tokens.insert(tokens.end(), own.begin(), own.end());

      const PrefixTree::Claim claim = tree_.announce(tokens);
      ASSERT_EQ(wait(tokens, &claim, 60s), PrefixWait::ready);
      SequencePages sequence(pools_, kPageTokens);
      sequence.adopt(tree_.match(tokens, &claim));
      while (sequence.n_tokens() < static_cast<int64_t>(tokens.size())) {
        const int64_t n_after = sequence.n_tokens() + kPageTokens;
        while (sequence.extend(n_after, PageKind::main).outcome != SequencePages::Extension::done) {
          tree_.evict({16, 0});
        }
        n_computed += kPageTokens;
        std::this_thread::yield();
        sequence.publish(tree_, std::span(tokens).first(static_cast<size_t>(n_after)),
                         PrefixClass::conversation);
      }
    };
    std::vector<std::thread> threads;
    for (int32_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(request, thread);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(n_computed, kCommon + kThreads * kOwn);
  }
}

// A claimer that fails halfway leaves the rest to the next one, and what it has published to all.
TEST_F(PrefixClaims, TheNextOneTakesOver) {
  std::optional first = tree_.announce(text(1, 12));
  const PrefixTree::Claim second = tree_.announce(text(1, 12));
  const PrefixTree::Claim third = tree_.announce(text(1, 12));
  remember(text(1, 4));
  first.reset();
  EXPECT_EQ(wait(text(1, 12), &second, 0ms), PrefixWait::ready);
  EXPECT_EQ(look(text(1, 12), &second), (Known{4, 0}));
  EXPECT_EQ(look(text(1, 12), &third), (Known{4, 8}));
}

}  // namespace
}  // namespace parlance
