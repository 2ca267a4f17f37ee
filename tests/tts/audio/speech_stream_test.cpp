#include "tts/audio/speech_stream.h"
#include "support/json_file.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tts/audio/loudness.h"
#include "tts/audio/silence.h"
#include "tts/audio/support/recorded_waves.h"

namespace parlance {
namespace {

struct Streamed {
  std::vector<int64_t> sizes;  // of what the sink was given
  std::vector<float> samples;
};

Streamed stream(const std::vector<std::vector<float>>& parts, const SpeechStreamOptions& options) {
  Streamed streamed;
  SpeechStream speech(options, [&](std::span<const float> samples) {
    streamed.sizes.push_back(static_cast<int64_t>(samples.size()));
    streamed.samples.insert(streamed.samples.end(), samples.begin(), samples.end());
    return true;
  });
  for (const std::vector<float>& part : parts) EXPECT_TRUE(speech.push(part));
  EXPECT_TRUE(speech.finish());
  return streamed;
}

std::optional<float> known(float reference_rms) {
  return reference_rms < 0 ? std::nullopt : std::optional(reference_rms);
}

std::vector<std::vector<float>> recorded_parts() {
  return {test::recorded_floats("post/xfade_in0"), test::recorded_floats("post/xfade_in1"),
          test::recorded_floats("post/xfade_in2")};
}

TEST(SpeechStream, RecordedJoin) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/post");
  EXPECT_EQ(join_parts(recorded_parts()), test::recorded_floats("post/xfade_out"));
}

// Those of silence alone are errors.
TEST(SpeechStream, RecordedWavesAsAWhole) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/post");
  for (const auto& [ending, reference_rms] :
       {std::pair<std::string, std::optional<float>>{".post_refrms0.05", 0.05f}, {".post_norefrms", {}}}) {
    for (const std::string& wave : test::recorded_names("post", ending)) {
      SCOPED_TRACE(wave + ending);
      const std::vector<std::vector<float>> parts{
          test::floats_of(test::recorded_s16("post/" + wave + ".in_s16"))};
      const auto expected = test::recorded_floats("post/" + wave + ending);
      const auto speech = finish_speech(parts, reference_rms);
      ASSERT_EQ(speech.has_value(), !expected.empty());
      if (speech) {
        EXPECT_EQ(*speech, expected);
      }
    }
  }
}

TEST(SpeechStream, RecordedStreams) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/post");
  for (const auto& recorded : test::read_json(test::fixtures_root() / "omnivoice/post/summary.json")) {
    const std::string wave = recorded["wave"];
    const std::vector<std::vector<float>> parts{
        test::floats_of(test::recorded_s16("post/" + wave + ".in_s16"))};
    const auto reference_rms = known(recorded["ref_rms"]);
    const Streamed streamed = stream(parts, {.reference_rms = reference_rms});
    EXPECT_EQ(streamed.sizes, recorded["stream_emits"].get<std::vector<int64_t>>()) << wave;

    const auto whole = finish_speech(parts, reference_rms);
    ASSERT_EQ(whole.has_value(), recorded["n_buffered"] != 0) << wave;
    if (whole) {
      EXPECT_EQ(whole->size(), recorded["n_buffered"].get<size_t>()) << wave;
      EXPECT_EQ(streamed.samples == *whole, recorded["bit_identical"].get<bool>()) << wave;
    } else {
      EXPECT_NE(whole.error().message.find("no sound"), std::string::npos);
    }
    const std::string stream = "post/" + wave + ".stream_refrms0.05";
    if (reference_rms == 0.05f &&
        std::filesystem::exists(test::fixtures_root() / "omnivoice" / (stream + ".npy"))) {
      EXPECT_EQ(streamed.samples, test::recorded_floats(stream)) << wave;
    }
  }
}

TEST(SpeechStream, RecordedStreamOfThreeParts) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/post");
  const auto recorded = test::read_json(test::fixtures_root() / "omnivoice/post/stream3.json");
  const Streamed streamed = stream(recorded_parts(), {.reference_rms = recorded["ref_rms"]});
  EXPECT_EQ(streamed.sizes, recorded["emits"].get<std::vector<int64_t>>());
  EXPECT_EQ(streamed.samples, test::recorded_floats("post/stream3_out"));

  int64_t n_samples = 0;
  SpeechStream speech({.reference_rms = 0.2f}, [&](std::span<const float> samples) {
    n_samples += static_cast<int64_t>(samples.size());
    return true;
  });
  std::vector<int64_t> totals;
  for (const std::vector<float>& part : recorded_parts()) {
    speech.push(part);
    totals.push_back(n_samples);
  }
  EXPECT_EQ(totals, recorded["total_after_each_push"].get<std::vector<int64_t>>());
}

TEST(SpeechStream, RecordedSynthesis) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/e2e");
  for (const std::string& name : test::recorded_names("e2e", ".raw_pcm")) {
    const std::vector<std::vector<float>> parts{test::recorded_floats("e2e/" + name + ".raw_pcm")};
    const auto speech = finish_speech(parts, std::nullopt);
    ASSERT_TRUE(speech) << speech.error().message;
    EXPECT_EQ(*speech, test::recorded_floats("e2e/" + name + ".pcm")) << name;
  }
}

// Sound and silence of random lengths, in parts of random lengths of at least 0.2 s.
std::vector<std::vector<float>> random_parts(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<size_t>(random() % n); };
  std::vector<float> noise(997);
  for (float& sample : noise) sample = static_cast<float>(random()) * 0x1p-31f - 1;
  std::vector<std::vector<float>> parts(1);
  for (size_t n_runs = 1 + below(8); n_runs > 0; --n_runs) {
    const float loudness = below(2) ? 0.2f : 0.0005f;
    const size_t n_samples = 2400 + below(below(3) ? 12000 : 60000);
    for (size_t i = 0; i < n_samples; ++i) parts.back().push_back(noise[i % noise.size()] * loudness);
    if (parts.back().size() > 4800 && below(4) == 0) parts.emplace_back();
  }
  if (parts.back().size() < 4800) parts.back().resize(4800, 0.1f);
  return parts;
}

TEST(SpeechStream, StreamedSpeechIsWhatTheWholeWouldBe) {
  std::mt19937 random(7);
  int n_compared = 0;
  for (int round = 0; round < 30; ++round) {
    const auto parts = random_parts(random);
    const auto whole = finish_speech(parts, 0.2f);
    if (!whole || whole->size() < 2 * (kFadeSamples + kPadSamples)) continue;
    const Streamed streamed = stream(parts, {.reference_rms = 0.2f});
    ASSERT_EQ(streamed.samples.size(), whole->size()) << round;
    for (size_t i = 0; i < whole->size(); ++i)
      ASSERT_NEAR(streamed.samples[i], (*whole)[i], 1.01f / 32768) << round << " " << i;
    n_compared += 1;
  }
  EXPECT_GT(n_compared, 15);
}

TEST(SpeechStream, ShortPartsInTheMiddleFadeAsTheyDoInTheWhole) {
  const std::vector<std::vector<float>> parts{std::vector(30000, 0.3f), std::vector(960, 0.3f),
                                              std::vector(100, 0.3f), std::vector(30000, 0.3f)};
  const auto whole = finish_speech(parts, 0.2f);
  ASSERT_TRUE(whole);
  const Streamed streamed = stream(parts, {.reference_rms = 0.2f});
  ASSERT_EQ(streamed.samples.size(), whole->size());
  for (size_t i = 0; i < whole->size(); ++i)
    ASSERT_NEAR(streamed.samples[i], (*whole)[i], 1.01f / 32768) << i;
}

TEST(SpeechStream, LeadingSilenceNeedNotDelayTheFirstSound) {
  const std::vector<std::vector<float>> parts{std::vector(30000, 0.3f)};
  const Streamed usual = stream(parts, {});
  const Streamed together = stream(parts, {.leading_silence = LeadingSilence::with_first_sound});
  const Streamed without = stream(parts, {.leading_silence = LeadingSilence::none});
  EXPECT_EQ(usual.sizes.front(), 2400);
  EXPECT_EQ(together.sizes.front(), 4800);
  EXPECT_EQ(together.samples, usual.samples);
  EXPECT_EQ(without.samples, std::vector(usual.samples.begin() + 2400, usual.samples.end()));
  EXPECT_EQ(without.sizes, std::vector(usual.sizes.begin() + 1, usual.sizes.end()));

  const std::vector<std::vector<float>> short_parts{std::vector(500, 0.3f)};
  EXPECT_EQ(stream(short_parts, {.leading_silence = LeadingSilence::with_first_sound}).sizes,
            (std::vector<int64_t>{2900, 2400}));
  EXPECT_EQ(stream(short_parts, {.leading_silence = LeadingSilence::none}).sizes,
            (std::vector<int64_t>{500, 2400}));
}

TEST(SpeechStream, NothingComesOfNothingOrAfterTheSinkHasEnough) {
  EXPECT_TRUE(stream({}, {}).samples.empty());
  EXPECT_TRUE(stream({{}, {}}, {}).samples.empty());

  int n_calls = 0;
  SpeechStream speech({}, [&](std::span<const float>) { return ++n_calls < 2; });
  EXPECT_FALSE(speech.push(std::vector(60000, 0.3f)));
  EXPECT_FALSE(speech.push(std::vector(60000, 0.3f)));
  EXPECT_FALSE(speech.finish());
  EXPECT_EQ(n_calls, 2);
}

TEST(SpeechStream, LoudnessFollowsAQuietReferenceOnly) {
  EXPECT_EQ(reference_gain(std::nullopt), 1);
  EXPECT_EQ(reference_gain(0.2f), 1);
  EXPECT_EQ(reference_gain(0.1f), 1);
  EXPECT_FLOAT_EQ(reference_gain(0.05f), 0.5f);
  EXPECT_EQ(reference_gain(0.0f), 0);
  std::vector<float> samples{1e-7f, -1e-7f};
  normalise_peak(samples);
  EXPECT_EQ(samples[0], 1e-7f);
  EXPECT_EQ(rms_of({}), 0);
  EXPECT_EQ(rms_of(std::vector{3.0f, -3.0f}), 3);
}

}  // namespace
}  // namespace parlance
