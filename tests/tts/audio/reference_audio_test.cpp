#include "tts/audio/reference_audio.h"

#include <cmath>

#include "support/json_file.h"
#include "tts/audio/loudness.h"
#include "tts/audio/speech_format.h"
#include "tts/audio/support/recorded_waves.h"

namespace parlance {
namespace {

// Recordings whose codes say how many frames were left of them.
TEST(ReferenceAudio, RecordedPreparation) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/e2e/cases.json");
  int n_recordings = 0;
  for (const auto& recorded : test::read_json(test::fixtures_root() / "omnivoice/e2e/cases.json")) {
    if (!recorded.contains("ref_codes")) continue;
    const std::string name = recorded.at("case");
    SCOPED_TRACE(name);
    const std::vector<float> samples = test::recorded_floats("e2e/" + name + ".ref24k");
    double sum = 0;
    for (const float x : samples) sum += static_cast<double>(x) * static_cast<double>(x);
    const auto reference = prepare_reference(samples, true);
    ASSERT_TRUE(reference) << reference.error().message;
    EXPECT_NEAR(reference->rms, std::sqrt(sum / static_cast<double>(samples.size())), 5e-5);
    EXPECT_EQ(reference->samples.size(), kSpeechFrameSamples * recorded.at("ref_codes").at(0).size());
    ++n_recordings;
  }
  EXPECT_GT(n_recordings, 0) << "no case of e2e/cases.json has a recording";
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
