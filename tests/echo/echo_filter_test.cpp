#include "echo/echo_filter.h"

#include <gtest/gtest.h>

#include "echo/sounds.h"

namespace parlance {
namespace {

std::vector<float> coupling(float power) {
  return std::vector<float>(kEchoBins, power);
}

std::vector<float> filtered(EchoFilter& filter, const std::vector<float>& heard,
                            const std::vector<float>& played) {
  return frame_by_frame(heard, played,
                        [&](auto in, auto reference, auto out) { filter.process(in, reference, out); });
}

TEST(EchoFilter, LearnsARoomWithinASecond) {
  const std::vector<float> played = hiss(1, 4 * kSecond, 0.05f), heard = echo_of(played, 100);
  for (const float guess : {0.03f, 0.3f, 3.0f}) {
    EchoFilter filter;
    filter.begin(coupling(guess));
    const std::vector<float> left = filtered(filter, heard, played);
    EXPECT_LT(left_db(left, heard, 1, 2), -20) << "from a guess of " << guess;
    EXPECT_LT(left_db(left, heard, 3, 4), -30) << "from a guess of " << guess;
  }
}

TEST(EchoFilter, IsHardlyDisturbedBySomebodyWhoSpeaks) {
  const std::vector<float> played = hiss(1, 5 * kSecond, 0.05f), echo = echo_of(played, 100);
  const std::vector<float> voice = murmur(2, kSecond, 0.05f, 210);
  std::vector<float> heard = echo;
  for (size_t i = 0; i < voice.size(); ++i) heard[3 * kSecond + i] += voice[i];
  EchoFilter filter;
  filter.begin(coupling(0.3f));
  const std::vector<float> left = filtered(filter, heard, played);
  // What was taken out while he spoke is the echo, and the room is known after that.
  std::vector<float> echo_left(left.size());
  for (size_t i = 0; i < left.size(); ++i) echo_left[i] = left[i] - (heard[i] - echo[i]);
  EXPECT_LT(left_db(echo_left, echo, 3, 4), -20);
  EXPECT_LT(left_db(left, heard, 4.02, 4.2), -15);
}

// Never less than there is; in the end, much less than is heard. Noise teaches faster than the variances
// tell.
TEST(EchoFilter, KnowsHowMuchIsLeft) {
  const std::vector<float> played = hiss(1, 3 * kSecond, 0.05f), heard = echo_of(played, 100);
  EchoFilter filter;
  filter.begin(coupling(0.3f));
  double is = 0, expected = 0, all = 0;
  int n_frames = 0;
  frame_by_frame(heard, played, [&](auto in, auto reference, auto out) {
    filter.process(in, reference, out);
    all += power(in) * 2 * kEchoFrame;
    is += power(out) * 2 * kEchoFrame;  // Parseval: of both halves of the spectrum
    for (const float x : filter.residual()) expected += 2 * static_cast<double>(x);
    if (++n_frames % 20 != 0) return;
    EXPECT_GT(expected, is) << n_frames;
    if (n_frames >= 200) {
      EXPECT_LT(expected, 0.2 * all) << n_frames;
    }
    is = expected = all = 0;
  });
}

TEST(EchoFilter, SaysByHowMuchTheEchoIsLater) {
  const std::vector<float> played = hiss(1, 3 * kSecond, 0.05f);
  for (const double later : {-0.2, 0.1, 0.3}) {
    EchoFilter filter;
    filter.begin(coupling(0.3f));
    std::vector<float> heard = echo_of(played, 100);
    // From the second on it is later at once.
    constexpr size_t kAt = 2 * kSecond;
    std::vector<float> shifted(heard);
    for (size_t i = kAt; i + 2 < heard.size(); ++i) {
      const auto f = static_cast<float>(later > 0 ? 1 - later : -later);
      const size_t k = later > 0 ? i - 1 : i;
      shifted[i] = heard[k] + f * (heard[k + 1] - heard[k]);
    }
    size_t n = 0;
    double found = 0;
    frame_by_frame(shifted, played, [&](auto in, auto reference, auto out) {
      filter.process(in, reference, out);
      n += kEchoFrame;
      if (n == kAt + kEchoFrame) found = filter.misalignment().samples;
    });
    EXPECT_NEAR(found, later, 0.15);
  }
}

TEST(EchoFilter, LeavesWhatIsHeardAloneWhereNothingIsPlayed) {
  const std::vector<float> heard = murmur(3, kSecond, 0.1f);
  EchoFilter filter;
  EXPECT_EQ(filtered(filter, heard, std::vector<float>(heard.size())), heard);
  for (const float x : filter.residual()) EXPECT_EQ(x, 0);
  EXPECT_EQ(filter.misalignment().information, 0);
}

}  // namespace
}  // namespace parlance
