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
    const auto reference = prepare_reference(samples, {.removes_silence = true});
    ASSERT_TRUE(reference) << reference.error().message;
    EXPECT_NEAR(reference->rms, std::sqrt(sum / static_cast<double>(samples.size())), 5e-5);
    EXPECT_EQ(reference->samples.size(), kSpeechFrameSamples * recorded.at("ref_codes").at(0).size());
    ++n_recordings;
  }
  EXPECT_GT(n_recordings, 0) << "no case of e2e/cases.json has a recording";
}

TEST(ReferenceAudio, QuietRecordingsAreRaisedAndLoudOnesLeft) {
  for (const float loudness : {0.05f, 0.1f, 0.3f}) {
    const auto reference = prepare_reference(std::vector(2000, loudness), {.removes_silence = false});
    ASSERT_TRUE(reference);
    EXPECT_FLOAT_EQ(reference->rms, loudness);
    EXPECT_EQ(reference->samples.size(), 1920u);
    EXPECT_NEAR(reference->samples.front(), std::max(loudness, 0.1f), 1e-6f);
  }
}

TEST(ReferenceAudio, RecordingsWithoutSpeechAreRefused) {
  EXPECT_FALSE(prepare_reference({}, {.removes_silence = true}));
  EXPECT_FALSE(prepare_reference(std::vector(959, 0.5f), {.removes_silence = false}));
  EXPECT_FALSE(prepare_reference(std::vector(24000, 0.0f), {.removes_silence = true}));
  EXPECT_FALSE(prepare_reference(std::vector(24000, std::nanf("")), {.removes_silence = true}));
}

// Speech up to the last sample: quiet is put behind it, in whole frames, and none where there is enough.
TEST(ReferenceAudio, EndsWithQuiet) {
  std::vector<float> samples(2 * kSpeechRateHz + 100);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 0.3f * std::sin(0.05f * static_cast<float>(i));
  const ReferencePreparation ends_quiet{.quiet_ms = kQuietBehindReferenceMs};
  const auto plain = prepare_reference(samples), quiet = prepare_reference(samples, ends_quiet);
  ASSERT_TRUE(plain && quiet);
  const auto n_quiet = std::ssize(quiet->samples) - std::ssize(samples);
  EXPECT_GE(n_quiet, speech_samples(200));
  EXPECT_LE(n_quiet, speech_samples(300));
  EXPECT_EQ(quiet->samples.size() % kSpeechFrameSamples, 0u);
  EXPECT_TRUE(std::all_of(quiet->samples.begin() + std::ssize(samples), quiet->samples.end(),
                          [](float x) { return x == 0; }));
  EXPECT_TRUE(std::equal(plain->samples.begin(), plain->samples.end(), quiet->samples.begin()));
  const auto again =
      prepare_reference(quiet->samples, {.removes_silence = false, .quiet_ms = kQuietBehindReferenceMs});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->samples.size(), quiet->samples.size());
}

}  // namespace
}  // namespace parlance
