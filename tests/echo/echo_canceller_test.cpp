#include "echo/echo_canceller.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "echo/sounds.h"

namespace parlance {
namespace {

std::vector<float> cancelled(EchoCanceller& canceller, const std::vector<float>& heard,
                             const std::vector<float>& played) {
  return frame_by_frame(heard, played,
                        [&](auto in, auto reference, auto out) { canceller.process(in, reference, out); });
}

// Without following it, high tones would be left as they are.
TEST(EchoCanceller, FollowsClocksThatDiffer) {
  const std::vector<float> played = soft_hiss(1, 5 * kSecond, 0.1f);
  for (const double faster : {0.0, 1e-4, -1e-4, 2e-4}) {
    const std::vector<float> heard = at_another_clock(echo_of(played, kSecond / 20), faster);
    EchoCanceller canceller;
    EXPECT_LT(left_db(cancelled(canceller, heard, played), heard, 4, 4.9), -20) << faster;
  }
}

// Clocks bring the echo nearer until the filter would have to look ahead: it begins anew in time.
TEST(EchoCanceller, FollowsAnEchoThatComesNearer) {
  const std::vector<float> played = soft_hiss(1, 7 * kSecond, 0.1f);
  const std::vector<float> heard = at_another_clock(echo_of(played, 12 * kSecond / 1000), 4e-4);
  EchoCanceller canceller;
  const std::vector<float> left = cancelled(canceller, heard, played);
  EXPECT_LT(canceller.n_known(), 500);
  EXPECT_LT(left_db(left, heard, 5, 6.9), -18);
}

// For as long as somebody talks, and without beginning anew: 18 ms one way or the other.
TEST(EchoCanceller, FollowsClocksThatDifferForAMinute) {
  const std::vector<float> played = soft_hiss(1, 62 * kSecond, 0.1f);
  for (const double faster : {3e-4, -3e-4}) {
    const std::vector<float> heard = at_another_clock(echo_of(played, kSecond / 20), faster);
    EchoCanceller canceller;
    const std::vector<float> left = cancelled(canceller, heard, played);
    EXPECT_GT(canceller.n_known(), 6000) << faster;
    for (const double second : {10, 30, 50, 60})
      EXPECT_LT(left_db(left, heard, second, second + 1), -20) << faster << " after " << second;
  }
}

// Heard before all that the filter can learn.
TEST(EchoCanceller, BeginsAnewSoonWhenTheEchoComesSooner) {
  const std::vector<float> played = soft_hiss(1, 12 * kSecond, 0.1f);
  const std::vector<float> near = echo_of(played, kSecond / 50), far = echo_of(played, kSecond / 5);
  std::vector<float> heard = far;
  std::copy(near.begin() + 4 * kSecond, near.end(), heard.begin() + 4 * kSecond);
  EchoCanceller canceller;
  const std::vector<float> left = cancelled(canceller, heard, played);
  EXPECT_LT(left_db(left, heard, 3, 4), -20);
  EXPECT_LT(left_db(left, heard, 5.5, 6), -30);
  EXPECT_LT(left_db(left, heard, 9, 12), -35);
}

TEST(EchoCanceller, SuspectsAllUntilItKnowsAndNothingOfAHeadset) {
  const std::vector<float> played = hiss(1, 2 * kSecond, 0.1f), voice = murmur(2, 2 * kSecond, 0.1f);
  EchoCanceller canceller;
  int n_frames = 0;
  frame_by_frame(voice, played, [&](auto in, auto reference, auto out) {
    canceller.process(in, reference, out);
    const std::span<const float> residual = canceller.residual();
    const bool is_suspected = std::ranges::any_of(residual, [](float x) { return x > 0; });
    EXPECT_EQ(is_suspected, n_frames < 99) << n_frames;
    ++n_frames;
  });
  EXPECT_EQ(canceller.n_known(), 0);
}

TEST(EchoCanceller, FindsTheRoomAgainWhenItIsAnotherOne) {
  const std::vector<float> played = soft_hiss(1, 12 * kSecond, 0.1f);
  const std::vector<float> near = echo_of(played, kSecond / 50), far = echo_of(played, kSecond / 5);
  std::vector<float> heard = near;
  std::copy(far.begin() + 4 * kSecond, far.end(), heard.begin() + 4 * kSecond);
  EchoCanceller canceller;
  const std::vector<float> left = cancelled(canceller, heard, played);
  EXPECT_LT(left_db(left, heard, 3, 4), -20);
  EXPECT_LT(left_db(left, heard, 10, 12), -20);
}

TEST(EchoCanceller, AfterARestartItKnowsNothingUntilTheDelayIsFound) {
  const std::vector<float> played = soft_hiss(1, 4 * kSecond, 0.1f), heard = echo_of(played, kSecond / 20);
  EchoCanceller canceller;
  cancelled(canceller, heard, played);
  EXPECT_GT(canceller.n_known(), 300);
  canceller.restart();
  EXPECT_EQ(canceller.n_known(), 0);
  EXPECT_FALSE(canceller.delay_ms());
  const std::vector<float> left = cancelled(canceller, heard, played);
  EXPECT_LT(left_db(left, heard, 1, 4), -15);
}

}  // namespace
}  // namespace parlance
