// Playback on a speaker that is driven by hand.
#include "voice/playback.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tts/audio/speech_format.h"

namespace parlance {
namespace {

// Plays when it is told to.
class HandSpeaker final : public Speaker {
 public:
  const std::string& name() const override { return name_; }
  int sample_rate_hz() const override { return kSpeechRateHz; }
  Result<int64_t> write(std::span<const float> samples) override {
    waiting.insert(waiting.end(), samples.begin(), samples.end());
    return std::ssize(samples);
  }
  Result<void> drain() override { return {}; }
  void stop() override { waiting.clear(); }
  int64_t played_frames() const override { return std::ssize(played); }

  void play(size_t n) {
    n = std::min(n, waiting.size());
    played.insert(played.end(), waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(n));
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(n));
  }

  std::vector<float> waiting, played;

 private:
  std::string name_ = "by hand";
};

struct Player {
  Player() {
    auto made = std::make_unique<HandSpeaker>();
    speaker = made.get();
    playback = *Playback::create(std::move(made), [this](std::span<const float> samples) -> Result<void> {
      heard.insert(heard.end(), samples.begin(), samples.end());
      return {};
    });
    playback->begin_answer();
  }
  void run(size_t n) {
    EXPECT_TRUE(playback->tick());
    speaker->play(n);
    EXPECT_TRUE(playback->tick());
  }

  HandSpeaker* speaker;
  std::vector<float> heard;
  std::unique_ptr<Playback> playback;
};

std::vector<float> ramp(size_t n) {
  std::vector<float> samples(n);
  for (size_t i = 0; i < n; ++i) samples[i] = static_cast<float>(i + 1);
  return samples;
}

TEST(Playback, PlaysEverythingInOrder) {
  Player player;
  const auto samples = ramp(30000);
  player.playback->play(std::span(samples).first(10000));
  EXPECT_FALSE(player.playback->is_drained());
  player.run(3000);
  EXPECT_EQ(player.playback->n_heard(), 3000);
  player.playback->play(std::span(samples).subspan(10000));
  for (int i = 0; i < 20; ++i) player.run(2000);
  EXPECT_TRUE(player.playback->is_drained());
  EXPECT_EQ(player.speaker->played, samples);
  EXPECT_EQ(player.heard, samples);
}

TEST(Playback, HoldsLittleInTheDevice) {
  Player player;
  player.playback->play(ramp(100000));
  player.run(0);
  EXPECT_LE(player.speaker->waiting.size(), static_cast<size_t>(kSpeechRateHz / 4));
}

TEST(Playback, FallsSilentAndGoesOnWhereItWas) {
  Player player;
  const auto samples = ramp(20000);
  player.playback->play(samples);
  player.run(5000);
  player.playback->hush();
  const auto n_fade = player.speaker->waiting.size();
  EXPECT_LE(n_fade, static_cast<size_t>(kSpeechRateHz / 100));
  EXPECT_LT(player.speaker->waiting.back(), 100);  // of some 5000
  for (int i = 0; i < 5; ++i) player.run(5000);
  EXPECT_EQ(player.speaker->played.size(), 5000 + n_fade);
  EXPECT_FALSE(player.playback->is_drained());
  player.playback->unhush();
  for (int i = 0; i < 5; ++i) player.run(5000);
  EXPECT_TRUE(player.playback->is_drained());
  ASSERT_EQ(player.speaker->played.size(), samples.size());  // nothing twice, nothing left out
  for (size_t i = 0; i < samples.size(); ++i) {
    const bool is_faded = i >= 5000 && i < 5000 + 2 * n_fade;
    if (!is_faded) {
      ASSERT_EQ(player.speaker->played[i], samples[i]) << i;
    }
  }
}

TEST(Playback, StopsForGood) {
  for (const bool is_hushed : {false, true}) {
    Player player;
    player.playback->play(ramp(20000));
    player.run(5000);
    if (is_hushed) player.playback->hush();
    player.playback->stop();
    for (int i = 0; i < 5; ++i) player.run(5000);
    EXPECT_TRUE(player.playback->is_drained());
    EXPECT_LT(player.playback->n_heard(), 5300);
    player.playback->begin_answer();
    EXPECT_EQ(player.playback->n_heard(), 0);
    const std::vector<float> next(100, -1.0f);
    player.playback->play(next);
    player.run(100);
    EXPECT_EQ(player.playback->n_heard(), 100);
    EXPECT_EQ(player.speaker->played.back(), -1.0f);
  }
}

TEST(Playback, WithoutSoundItTakesItsTimeOrNone) {
  double now_ms = 0;
  const auto slow = *Playback::create(make_silent_speaker([&] { return now_ms; }));
  const auto quick = *Playback::create(make_instant_speaker());
  for (Playback* playback : {slow.get(), quick.get()}) {
    playback->begin_answer();
    playback->play(std::vector<float>(kSpeechRateHz));
    EXPECT_TRUE(playback->tick());
  }
  EXPECT_TRUE(quick->is_drained());
  EXPECT_EQ(quick->n_heard(), kSpeechRateHz);
  for (; now_ms < 500; now_ms += 10) EXPECT_TRUE(slow->tick());
  EXPECT_NEAR(static_cast<double>(slow->n_heard()), kSpeechRateHz / 2, kSpeechRateHz / 50);
  for (; now_ms < 1100; now_ms += 10) EXPECT_TRUE(slow->tick());
  EXPECT_TRUE(slow->is_drained());
}

// It says when it wants to be called again, and what comes of that is heard without a gap.
TEST(Playback, WaitsAsLongAsTheDeviceHasSound) {
  Player player;
  EXPECT_FALSE(player.playback->wait_ms());
  player.playback->play(ramp(kSpeechRateHz));  // a second
  int n_calls = 0;
  double elapsed_ms = 0;
  ASSERT_TRUE(player.playback->tick());
  while (const auto wait_ms = player.playback->wait_ms()) {
    const auto n = static_cast<size_t>(*wait_ms * kSpeechRateHz / 1000);
    EXPECT_LE(n, player.speaker->waiting.size()) << "the device ran dry after " << elapsed_ms << " ms";
    player.speaker->play(n);
    elapsed_ms += *wait_ms;
    ASSERT_TRUE(player.playback->tick());
    ASSERT_LT(++n_calls, 30);
  }
  EXPECT_TRUE(player.playback->is_drained());
  EXPECT_EQ(player.heard.size(), static_cast<size_t>(kSpeechRateHz));
}

}  // namespace
}  // namespace parlance
