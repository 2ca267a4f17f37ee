#include "echo/suppressor.h"

#include <gtest/gtest.h>

#include "echo/sounds.h"

namespace parlance {
namespace {

std::vector<float> suppressed(const std::vector<float>& left, float residual, float* excess_db = nullptr) {
  Suppressor suppressor;
  const std::vector<float> expected(kEchoBins, residual);
  return frame_by_frame(left, left, [&](auto in, auto, auto out) {
    suppressor.process(in, expected, out);
    if (excess_db) *excess_db = suppressor.excess_db();
  });
}

// A frame late, and hardly changed.
TEST(Suppressor, LeavesAVoiceAsItIs) {
  std::vector<float> voice = hiss(2, 2 * kSecond, 1e-4f);
  const std::vector<float> speech = murmur(1, kSecond, 0.1f);
  for (size_t i = 0; i < speech.size(); ++i) voice[kSecond + i] += speech[i];
  const std::vector<float> out = suppressed(voice, 0);
  std::vector<float> difference(voice.size());
  for (size_t i = kEchoFrame; i < out.size(); ++i) difference[i] = out[i] - voice[i - kEchoFrame];
  EXPECT_LT(left_db(difference, voice, 1.05, 1.95), -20);
}

TEST(Suppressor, TakesNoiseAndExpectedEchoAway) {
  const std::vector<float> noise = hiss(1, 3 * kSecond, 0.01f);
  float excess_db = 0;
  EXPECT_LT(left_db(suppressed(noise, 0, &excess_db), noise, 2, 3), -6);
  EXPECT_LT(excess_db, 1);
  // As much echo as there is sound: a frame's spectrum has its power times its samples.
  EXPECT_LT(left_db(suppressed(noise, 4e-4f * kEchoFrame, &excess_db), noise, 2, 3), -15);
  EXPECT_EQ(excess_db, 0);
}

TEST(Suppressor, SaysByHowMuchAVoiceIsAboveWhatIsExpected) {
  std::vector<float> sound = hiss(2, 2 * kSecond, 1e-3f);
  for (size_t i = kSecond; i < sound.size(); ++i) sound[i] *= 10;
  float excess_db = 0;
  Suppressor suppressor;
  const std::vector<float> expected(kEchoBins, 1e-6f * kEchoFrame);
  size_t n = 0;
  frame_by_frame(sound, sound, [&](auto in, auto, auto out) {
    suppressor.process(in, expected, out);
    if ((n += kEchoFrame) == kSecond + 2 * kEchoFrame) excess_db = suppressor.excess_db();
  });
  // 20 dB less the 4 that noise and expected echo are above the noise.
  EXPECT_GT(excess_db, 14);
  EXPECT_LE(excess_db, 20);
}

}  // namespace
}  // namespace parlance
