#include "tts/audio/silence.h"

#include <cmath>
#include <limits>

#include "tts/audio/support/recorded_waves.h"

namespace parlance {
namespace {

TEST(Silence, RecordedWaves) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/post");
  for (const std::string& wave : test::recorded_names("post", ".remove_silence_500_100_100_s16")) {
    const auto samples = test::recorded_s16("post/" + wave + ".in_s16");
    EXPECT_EQ(remove_silence(samples, kSpeechSilence),
              test::recorded_s16("post/" + wave + ".remove_silence_500_100_100_s16"))
        << wave;
    EXPECT_EQ(remove_silence(samples, kReferenceSilence),
              test::recorded_s16("post/" + wave + ".remove_silence_200_100_200_s16"))
        << wave;
    EXPECT_EQ(remove_silence(test::floats_of(samples), kSpeechSilence),
              test::floats_of(remove_silence(samples, kSpeechSilence)))
        << wave;
  }
}

TEST(Silence, NothingIsLeftOfNothing) {
  EXPECT_TRUE(remove_silence(std::vector<int16_t>(), kSpeechSilence).empty());
  EXPECT_TRUE(remove_silence(std::vector<int16_t>(12000), kSpeechSilence).empty());
  EXPECT_TRUE(remove_silence(std::vector<int16_t>(12001), kSpeechSilence).empty());
  // Too short to be judged: the trims alone.
  EXPECT_EQ(remove_silence(std::vector<int16_t>(11999), kSpeechSilence).size(), 2400u);
}

TEST(Silence, LoudSpeechStaysWhole) {
  for (const size_t n : {1, 239, 240, 241, 11999, 12000, 12001, 50000}) {
    const std::vector<int16_t> samples(n, 3000);
    EXPECT_EQ(remove_silence(samples, kSpeechSilence), samples) << n;
  }
}

TEST(Silence, SamplesAreCutOffTowardsZero) {
  EXPECT_EQ(s16_of(1.9f / 32768), 1);
  EXPECT_EQ(s16_of(-1.9f / 32768), -1);
  EXPECT_EQ(s16_of(1), 32767);
  EXPECT_EQ(s16_of(-7), -32768);
  EXPECT_EQ(s16_of(std::numeric_limits<float>::infinity()), 32767);
  EXPECT_EQ(s16_of(std::nanf("")), 0);
}

}  // namespace
}  // namespace parlance
