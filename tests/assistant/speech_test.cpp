#include "assistant/speech.h"

#include <gtest/gtest.h>

#include "assistant/regions.h"
#include "assistant/support/tiny_bundle.h"
#include "audio/wav_writer.h"

namespace parlance::test {
namespace {

class NarratorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_TINY_BUNDLE();
    Choice choice = tiny_choice(folder_);
    choice.synthesizer.n_phrases = 64;
    regions_.emplace(choice);
    auto mouth = regions_->tts.acquire();
    ASSERT_TRUE(mouth) << mouth.error().message;
    narrator_.emplace(*std::move(mouth));
  }
  static SpeechRequest request(const std::string& text) {
    SpeechRequest request;
    request.text = text;
    request.decoding.n_step = 2;
    return request;
  }

  const TemporaryFolder folder_;
  std::optional<Regions> regions_;
  std::optional<Narrator> narrator_;
};

TEST_F(NarratorTest, SpeaksWithTheVoicesOfItsBundle) {
  ASSERT_FALSE(narrator_->voices().empty());
  for (const std::string& name : narrator_->voices()) {
    SpeechRequest spoken = request("Hello world.");
    const auto voice = narrator_->voice({.name = name});
    ASSERT_TRUE(voice) << voice.error().message;
    spoken.voice = *voice;
    const auto speech = narrator_->say(spoken);
    ASSERT_TRUE(speech) << speech.error().message;
    EXPECT_EQ(speech->report.chunks[0].n_reference, voice->reference.n_frames());
  }
  const auto unknown = narrator_->voice({.name = "nobody"});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("nobody"), std::string::npos) << unknown.error().message;
}

TEST_F(NarratorTest, SpeaksLikeARecording) {
  const auto write = [&](const char* name, double seconds) {
    std::vector<float> samples(static_cast<size_t>(seconds * 16000));
    for (size_t i = 0; i < samples.size(); ++i)
      samples[i] =
          0.3f * std::sin(0.06f * static_cast<float>(i) + 20 * std::sin(0.002f * static_cast<float>(i)));
    EXPECT_TRUE(write_wav(folder_ / name, samples, {.sample_rate_hz = 16000}));
    return (folder_ / name).string();
  };
  const VoiceChoice choice{.name = {}, .recording = write("me.wav", 1), .recording_text = "words"};
  const auto voice = narrator_->voice(choice);
  ASSERT_TRUE(voice) << voice.error().message;
  EXPECT_EQ(voice->reference.n_frames(), 25);
  EXPECT_EQ(voice->reference_text, "words.");

  const auto brief =
      narrator_->voice({.name = {}, .recording = write("brief.wav", 0.3), .recording_text = "a"});
  ASSERT_FALSE(brief);
  EXPECT_NE(brief.error().message.find("brief.wav"), std::string::npos);
  EXPECT_NE(brief.error().message.find("too short"), std::string::npos) << brief.error().message;

  const CancellationSource source;
  const Cancellation cancellation = source.ticket();
  source.cancel();
  const auto cancelled = narrator_->voice(choice, cancellation);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
}

TEST_F(NarratorTest, RemembersWhatAPresetHasSpoken) {
  VoicePreset preset;
  preset.reference = narrator_->voice({.name = narrator_->voices().front()})->reference;
  preset.reference_text = "words";
  preset.phrases.push_back(
      {.text = "One second.", .sample_rate_hz = kSpeechRateHz, .samples = std::vector<float>(2400, 0.25f)});
  ASSERT_TRUE(write_voice_preset(folder_ / "cache/voice-preset-quick.bin", preset));
  SpeechRequest spoken = request("one second.");
  spoken.voice = *narrator_->voice({.name = "quick"});
  EXPECT_FALSE(narrator_->say(spoken)->report.chunks.empty());
  ASSERT_TRUE(narrator_->remember_phrases("quick", spoken));
  const auto known = narrator_->say(spoken);
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->report.chunks.empty());
  EXPECT_EQ(known->samples, preset.phrases[0].samples);
  EXPECT_FALSE(narrator_->remember_phrases("nobody", spoken));
}

TEST_F(NarratorTest, FillersAreThoseThatAPresetHasOrSpoken) {
  VoicePreset preset;
  preset.reference = narrator_->voice({.name = narrator_->voices().front()})->reference;
  preset.reference_text = "words";
  const auto add = [&](const char* text, float value) {
    preset.phrases.push_back(
        {.text = text, .sample_rate_hz = kSpeechRateHz, .samples = std::vector<float>(2400, value)});
  };
  add("No problem.", 0.1f);
  add("Let me  check.", 0.2f);
  add(" Okay!", 0.3f);
  ASSERT_TRUE(write_voice_preset(folder_ / "cache/voice-preset-quick.bin", preset));
  const auto filler = narrator_->filler("quick", request(""));
  ASSERT_TRUE(filler) << filler.error().message;
  EXPECT_EQ(*filler, preset.phrases[2].samples) << "the first of the order, not of the preset";
  preset.phrases.resize(1);
  ASSERT_TRUE(write_voice_preset(folder_ / "cache/voice-preset-slow.bin", preset));
  for (const char* name : {"slow", "no preset at all", ""}) {
    const auto spoken = narrator_->filler(name, request(""));
    ASSERT_TRUE(spoken) << spoken.error().message;
    EXPECT_EQ(*spoken, narrator_->say(request("one sec"))->samples) << name;
  }
}

}  // namespace
}  // namespace parlance::test
