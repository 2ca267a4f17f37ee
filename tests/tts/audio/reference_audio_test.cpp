#include "tts/audio/reference_audio.h"

#include <cmath>

#include "tts/audio/loudness.h"
#include "tts/audio/support/recorded_waves.h"

namespace parlance {
namespace {

TEST(ReferenceAudio, RecordedPreparation) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/e2e");
  const std::vector<float> samples = test::recorded_floats("e2e/clone.ref24k");
  ASSERT_EQ(samples.size(), 30800u);
  const auto reference = prepare_reference(samples, true);
  ASSERT_TRUE(reference) << reference.error().message;
  EXPECT_NEAR(reference->rms, 0.0548f, 5e-5f);
  EXPECT_EQ(reference->samples.size(), 24000u);
}

TEST(ReferenceAudio, QuietRecordingsAreRaisedAndLoudOnesLeft) {
  for (const float loudness : {0.05f, 0.1f, 0.3f}) {
    const auto reference = prepare_reference(std::vector(2000, loudness), false);
    ASSERT_TRUE(reference);
    EXPECT_FLOAT_EQ(reference->rms, loudness);
    EXPECT_EQ(reference->samples.size(), 1920u);
    EXPECT_NEAR(reference->samples.front(), std::max(loudness, 0.1f), 1e-6f);
  }
}

TEST(ReferenceAudio, RecordingsWithoutSpeechAreRefused) {
  EXPECT_FALSE(prepare_reference({}, true));
  EXPECT_FALSE(prepare_reference(std::vector(959, 0.5f), false));
  EXPECT_FALSE(prepare_reference(std::vector(24000, 0.0f), true));
  EXPECT_FALSE(prepare_reference(std::vector(24000, std::nanf("")), true));
}

}  // namespace
}  // namespace parlance
