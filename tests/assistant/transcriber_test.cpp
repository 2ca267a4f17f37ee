// Sound to text, with a tiny recogniser of random weights: what it hears means nothing, but is always the
// same.
#include "assistant/transcriber.h"

#include <gtest/gtest.h>

#include "asr/support/fixture_clips.h"
#include "assistant/events.h"
#include "assistant/regions.h"
#include "assistant/support/tiny_bundle.h"
#include "audio/resampler.h"

namespace parlance::test {
namespace {

class TranscriberTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_TINY_BUNDLE();
    Choice choice = tiny_choice(folder_);
    choice.recognizer.preview_share = 0;
    regions_.emplace(choice);
    ears_ = *regions_->asr.acquire();
    detector_ = *regions_->vad.acquire();
    for (const std::string& wave : vad_waves()) {
      const auto clip = read_audio(vad_fixtures() / (wave + ".wav"), kMelSampleRateHz);
      ASSERT_TRUE(clip) << clip.error().message;
      if (clip->samples.size() > samples_.size()) samples_ = clip->samples;  // the longest
    }
    ASSERT_FALSE(samples_.empty());
  }

  // Feeds pieces of this size.
  Heard transcribe(std::span<const float> samples, size_t piece, TranscriberOptions options = {},
                   bool has_detector = true) {
    events_.clear();
    EventTeller teller([this](const AssistantEvent& event) { events_.push_back(event); });
    auto transcriber = Transcriber::open(ears_, has_detector ? detector_ : nullptr, options, teller);
    EXPECT_TRUE(transcriber) << transcriber.error().message;
    for (size_t at = 0; at < samples.size(); at += piece)
      EXPECT_TRUE((*transcriber)->feed(samples.subspan(at, std::min(piece, samples.size() - at))));
    auto heard = (*transcriber)->finish();
    EXPECT_TRUE(heard) << heard.error().message;
    return heard ? *std::move(heard) : Heard();
  }

  static void expect_same(const Heard& got, const Heard& want) {
    EXPECT_EQ(got.transcript, want.transcript);
    ASSERT_EQ(got.segments.size(), want.segments.size());
    for (size_t i = 0; i < got.segments.size(); ++i) {
      EXPECT_EQ(got.segments[i].transcript, want.segments[i].transcript);
      EXPECT_EQ(got.segments[i].start_s, want.segments[i].start_s);
      EXPECT_EQ(got.segments[i].end_s, want.segments[i].end_s);
    }
  }

  const TemporaryFolder folder_;
  std::optional<Regions> regions_;
  std::shared_ptr<AsrRegion> ears_;
  std::shared_ptr<VadRegion> detector_;
  std::vector<float> samples_;
  std::vector<AssistantEvent> events_;
};

TEST_F(TranscriberTest, AnySplitHearsTheSame) {
  const Heard whole = transcribe(samples_, samples_.size());
  EXPECT_GE(whole.segments.size(), 1u);
  EXPECT_DOUBLE_EQ(whole.audio_s, seconds_of(std::ssize(samples_)));
  for (const size_t piece : {160, 1601, 40000}) expect_same(transcribe(samples_, piece), whole);
}

TEST_F(TranscriberTest, ASegmentIsToldWhenItHasEnded) {
  const Heard heard = transcribe(samples_, 1600);
  size_t n_segments = 0;
  for (const AssistantEvent& event : events_) {
    if (const auto* segment = std::get_if<SegmentEvent>(&event)) {
      ASSERT_LT(n_segments, heard.segments.size());
      EXPECT_EQ(segment->segment.transcript, heard.segments[n_segments++].transcript);
    } else {
      EXPECT_TRUE(std::holds_alternative<PartialEvent>(event));
    }
  }
  EXPECT_EQ(n_segments, heard.segments.size());
}

TEST_F(TranscriberTest, WithoutADetectorAllIsSpeech) {
  const Heard heard = transcribe(samples_, 1600, {}, /*has_detector=*/false);
  const auto whole = hear_recording(*ears_->recognizer, samples_, {});
  ASSERT_TRUE(whole) << whole.error().message;
  expect_same(heard, *whole);
}

TEST_F(TranscriberTest, TakesAnyRate) {
  for (const int rate_hz : {8000, 22050, 48000}) {
    SCOPED_TRACE(rate_hz);
    const auto other = resample(samples_, kMelSampleRateHz, rate_hz);
    ASSERT_TRUE(other);
    const auto back = resample(*other, rate_hz, kMelSampleRateHz);
    ASSERT_TRUE(back);
    TranscriberOptions options;
    options.sample_rate_hz = rate_hz;
    expect_same(transcribe(*other, 777, options), transcribe(*back, 1600));
  }
}

TEST_F(TranscriberTest, SubtitlesLieWhereSpeechIs) {
  std::vector<SpeechSegment> speech(2);
  speech[0].first_sample = 0, speech[0].end_sample = 20000;
  speech[1].first_sample = 40000, speech[1].end_sample = 50000;
  const auto heard = hear_speech(*ears_->recognizer, samples_, speech, {});
  ASSERT_TRUE(heard) << heard.error().message;
  ASSERT_EQ(heard->segments.size(), 2u);
  EXPECT_EQ(heard->segments[1].start_s, 2.5);
  EXPECT_EQ(heard->segments[1].end_s, 3.125);
  const CancellationSource source;
  const Cancellation cancellation = source.ticket();
  source.cancel();
  const auto cancelled = hear_speech(*ears_->recognizer, samples_, speech, {}, {}, cancellation);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
}

TEST_F(TranscriberTest, RefusesWhatItCannotHear) {
  EventTeller teller([](const AssistantEvent&) {});
  TranscriberOptions options;
  options.request.language = "Klingon";
  EXPECT_FALSE(Transcriber::open(ears_, detector_, options, teller));
  options = {};
  options.sample_rate_hz = -5;
  EXPECT_FALSE(Transcriber::open(ears_, detector_, options, teller));
}

}  // namespace
}  // namespace parlance::test
