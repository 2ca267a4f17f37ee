// From samples to turns, on recorded speech.
#include "vad/speech_detector.h"

#include <algorithm>
#include <limits>
#include <random>

#include "vad/support/vad_fixtures.h"

namespace parlance::test {
namespace {

// All that a detector reported.
struct Heard {
  std::vector<TurnEvent> events;
  std::vector<float> audio;
  std::vector<std::pair<int64_t, size_t>> pieces;  // position, and how many samples were given before it

  bool operator==(const Heard&) const = default;
};

// Feeds pieces of the lengths that `next_length` says.
Heard hear(SpeechDetector& detector, std::span<const float> samples, FunctionRef<size_t()> next_length) {
  Heard heard;
  const auto on_event = [&](const TurnEvent& event) { heard.events.push_back(event); };
  const auto on_audio = [&](std::span<const float> audio, int64_t position) {
    heard.pieces.emplace_back(position, heard.audio.size());
    heard.audio.insert(heard.audio.end(), audio.begin(), audio.end());
  };
  while (!samples.empty()) {
    const size_t n = std::min(samples.size(), next_length());
    detector.feed(samples.first(n), on_event, on_audio);
    samples = samples.subspan(n);
  }
  detector.flush(on_event, on_audio);
  return heard;
}

class SpeechDetectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_VAD_FIXTURES();
    PARLANCE_REQUIRE_FIXTURES("vad/events.json");
    model_ = load_vad();
    ASSERT_TRUE(model_);
    waves_ = vad_waves_with_speech();
    ASSERT_FALSE(waves_.empty()) << "no wave of " << vad_fixtures() << " has speech by events.json";
    speech_ = read_vad_wave(waves_.front());
    stretch_ = vad_stretches(waves_.front()).front();
    ASSERT_LE(stretch_.end, std::ssize(speech_)) << waves_.front();
  }
  Heard hear_wave(const std::string& wave, const TurnOptions& options = {}) {
    SpeechDetector detector(model_, options);
    return hear(detector, read_vad_wave(wave), [] { return size_t{512}; });
  }
  // Samples up to the loudest window in the first stretch of speech, by the detector's own probability.
  size_t inside_speech() const {
    SileroVad vad(model_);
    const std::vector<float> probabilities = vad_probabilities(vad, speech_);
    const auto first = probabilities.begin() + (stretch_.first + 4 * kSileroWindow) / kSileroWindow,
               last = probabilities.begin() + stretch_.end / kSileroWindow;
    return static_cast<size_t>(std::max_element(first, last) - probabilities.begin() + 1) * kSileroWindow;
  }

  std::shared_ptr<const SileroModel> model_;
  std::vector<std::string> waves_;  // with speech
  std::vector<float> speech_;       // the first of them
  VadStretch stretch_;              // its first stretch of speech, at least as the reference has it
};

TEST_F(SpeechDetectorTest, FindsTheTurnsOfRecordings) {
  using Kind = TurnEvent::Kind;
  constexpr int64_t kNear = 2 * kSileroWindow;
  for (const std::string& wave : waves_) {
    SCOPED_TRACE(wave);
    const Heard heard = hear_wave(wave);
    const std::vector<VadStretch> stretches = vad_stretches(wave);
    int n_open = 0, n_starts = 0;
    for (const TurnEvent& event : heard.events) {
      n_starts += event.kind == Kind::speech_start;
      n_open += event.kind == Kind::speech_start;
      n_open -= event.kind == Kind::speech_end || event.kind == Kind::blip;
      EXPECT_TRUE(n_open == 0 || n_open == 1);
      if (event.kind != Kind::speech_start) continue;
      const bool is_speech = std::ranges::any_of(stretches, [&](const VadStretch& stretch) {
        return event.speech_start >= stretch.first - kNear && event.speech_start < stretch.end + kNear;
      });
      EXPECT_TRUE(is_speech) << "speech from sample " << event.speech_start;
    }
    EXPECT_EQ(n_open, 0);
    EXPECT_GE(n_starts, 1);
    EXPECT_LE(n_starts, std::ssize(stretches));
  }
  for (const std::string& wave : vad_waves_without_speech()) {
    EXPECT_TRUE(hear_wave(wave).events.empty()) << wave;
    EXPECT_TRUE(hear_wave(wave).audio.empty()) << wave;
  }
}

TEST_F(SpeechDetectorTest, GivesTheAudioOfSegmentsWithoutGaps) {
  for (const std::string& wave : waves_) {
    const std::vector<float> samples = read_vad_wave(wave);
    const Heard heard = hear_wave(wave);
    ASSERT_FALSE(heard.events.empty());
    int64_t expected = -1, n_given = 0;
    auto piece = heard.pieces.begin();
    for (const TurnEvent& event : heard.events) {
      if (event.kind == TurnEvent::Kind::speech_start) {
        ASSERT_NE(piece, heard.pieces.end());
        EXPECT_EQ(piece->first, event.first_sample) << wave;
        EXPECT_GE(event.first_sample, expected) << wave;  // nothing is given twice
        EXPECT_GE(event.speech_start - event.first_sample, 0);
        EXPECT_LE(event.speech_start - event.first_sample, 10 * kSileroWindow);
        expected = event.first_sample;
      }
      const bool is_end = event.kind == TurnEvent::Kind::speech_end || event.kind == TurnEvent::Kind::blip;
      if (!is_end) continue;
      for (; piece != heard.pieces.end() && piece->first < event.n_heard; ++piece) {
        EXPECT_EQ(piece->first, expected) << wave;
        const size_t next = piece + 1 == heard.pieces.end() ? heard.audio.size() : (piece + 1)->second;
        const size_t n = next - piece->second;
        EXPECT_TRUE(std::equal(heard.audio.begin() + static_cast<std::ptrdiff_t>(piece->second),
                               heard.audio.begin() + static_cast<std::ptrdiff_t>(next),
                               samples.begin() + piece->first));
        expected += static_cast<int64_t>(n);
        n_given += static_cast<int64_t>(n);
      }
      EXPECT_EQ(expected, event.n_heard) << wave;
    }
    EXPECT_EQ(piece, heard.pieces.end());
    EXPECT_EQ(n_given, static_cast<int64_t>(heard.audio.size()));
  }
}

TEST_F(SpeechDetectorTest, HowSamplesAreSplitChangesNothing) {
  const std::vector<float>& samples = speech_;
  const Heard whole = hear_wave(waves_.front());
  SpeechDetector detector(model_);
  std::mt19937 random(3);
  for (const size_t length :
       {size_t{1}, size_t{160}, size_t{511}, size_t{513}, size_t{5000}, samples.size()}) {
    EXPECT_EQ(hear(detector, samples, [&] { return length; }), whole) << length;  // flush() made it as new
  }
  EXPECT_EQ(hear(detector, samples, [&] { return 1 + random() % 1000; }), whole);
}

TEST_F(SpeechDetectorTest, SpeechThatTheStreamCutsOffEnds) {
  std::vector<float> samples = speech_;
  samples.resize(inside_speech() + 100);
  SpeechDetector detector(model_);
  const Heard heard = hear(detector, samples, [] { return size_t{100}; });
  ASSERT_FALSE(heard.events.empty());
  EXPECT_EQ(heard.events.back().kind, TurnEvent::Kind::speech_end);
  EXPECT_EQ(heard.events.back().n_heard, static_cast<int64_t>(samples.size()));
  EXPECT_EQ(heard.audio.back(), samples.back());
  EXPECT_EQ(detector.phase(), TurnPhase::idle);
}

TEST_F(SpeechDetectorTest, BrokenSamplesAreGivenAsSilence) {
  std::vector<float> samples = speech_;
  for (size_t i = 0; i < samples.size(); i += 1000) samples[i] = std::numeric_limits<float>::quiet_NaN();
  SpeechDetector detector(model_);
  const Heard heard = hear(detector, samples, [] { return size_t{512}; });
  EXPECT_FALSE(heard.audio.empty());
  for (const float sample : heard.audio) ASSERT_TRUE(std::isfinite(sample));
}

// As if there had been silence, but the audio before the onset is what was heard.
TEST_F(SpeechDetectorTest, BehindAShutGateTheModelHearsNothing) {
  const size_t n_shut = inside_speech();
  const std::span<const float> before = std::span(speech_).first(n_shut),
                               after = std::span(speech_).subspan(n_shut);
  const auto opened_after = [&](std::span<const float> first, double gate) {
    SpeechDetector detector(model_);
    detector.set_gate(gate);
    detector.feed(
        first, [](const TurnEvent&) { FAIL(); }, [](std::span<const float>, int64_t) { FAIL(); });
    EXPECT_LT(detector.probability(), 0.1f);
    detector.set_gate(0);
    return hear(detector, after, [] { return size_t{100}; });
  };
  const Heard shut = opened_after(before, 2), silent = opened_after(std::vector<float>(n_shut), 0);
  EXPECT_EQ(shut.events, silent.events);
  ASSERT_FALSE(shut.pieces.empty());
  const auto first = speech_.begin() + shut.pieces.front().first;
  EXPECT_LT(shut.pieces.front().first, static_cast<int64_t>(n_shut));
  EXPECT_TRUE(std::equal(first, first + kSileroWindow, shut.audio.begin()));
}

TEST_F(SpeechDetectorTest, AResetForgetsSpeech) {
  SpeechDetector detector(model_);
  const auto ignore_event = [](const TurnEvent&) {};
  const auto ignore_audio = [](std::span<const float>, int64_t) {};
  detector.feed(std::span<const float>(speech_).first(inside_speech()), ignore_event, ignore_audio);
  EXPECT_EQ(detector.phase(), TurnPhase::speaking);
  EXPECT_GT(detector.probability(), 0.5f);
  detector.reset();
  EXPECT_EQ(detector.phase(), TurnPhase::idle);
  EXPECT_EQ(hear(detector, speech_, [] { return size_t{512}; }), hear_wave(waves_.front()));
}

}  // namespace
}  // namespace parlance::test
