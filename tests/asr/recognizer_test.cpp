// Streams: the same transcript as the whole recording, whatever the split; previews that nobody waits for.
#include "asr/recognizer.h"

#include <chrono>
#include <limits>
#include <random>
#include <thread>

#include "asr/support/fixture_clips.h"
#include "support/gguf_copy.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"
#include "support/tested_device.h"

namespace parlance::test {
namespace {

class RecognizerTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/manifest.json");
    manifest_ = asr_manifest();
    device_ = std::move(*make_tested_device({.n_threads = 2}));
    model_ = load_asr(GetParam(), *device_, {.huge_pages = false});
    options_.max_tokens = 40;
    options_.preview_seconds = 0.1;
    options_.preview_share = 0;
  }

  std::unique_ptr<Recognizer> make() {
    auto recognizer = Recognizer::create(*model_, options_);
    EXPECT_TRUE(recognizer) << recognizer.error().message;
    return recognizer ? *std::move(recognizer) : nullptr;
  }

  static Transcription transcribe(Recognizer& recognizer, const std::vector<float>& samples,
                                  const AsrRequest& request = {}) {
    auto heard = recognizer.transcribe(samples, request);
    EXPECT_TRUE(heard) << heard.error().message;
    return heard ? *heard : Transcription{};
  }

  // Feeds pieces of the given sizes, the last of which repeats; waits for previews now and then.
  static Transcription stream(Recognizer& recognizer, const std::vector<float>& samples,
                              const std::vector<size_t>& sizes, const AsrRequest& request = {}) {
    const auto opened = recognizer.open(request);
    EXPECT_TRUE(opened) << opened.error().message;
    size_t at = 0;
    for (size_t i = 0; at < samples.size(); ++i) {
      const size_t n = std::min(sizes[std::min(i, sizes.size() - 1)], samples.size() - at);
      EXPECT_TRUE((*opened)->feed(std::span(samples).subspan(at, n)));
      at += n;
      if (i % 7 == 3) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      if (i % 11 == 5) (*opened)->pause();
      (*opened)->partial();
    }
    auto heard = (*opened)->finish();
    EXPECT_TRUE(heard) << heard.error().message;
    return heard ? *heard : Transcription{};
  }

  static void expect_same(const Transcription& got, const Transcription& want) {
    EXPECT_EQ(got.transcript, want.transcript);
    ASSERT_EQ(got.segments.size(), want.segments.size());
    for (size_t i = 0; i < got.segments.size(); ++i) {
      EXPECT_EQ(got.segments[i].tokens, want.segments[i].tokens);
      EXPECT_EQ(got.segments[i].start_seconds, want.segments[i].start_seconds);
      EXPECT_EQ(got.segments[i].end_seconds, want.segments[i].end_seconds);
      EXPECT_EQ(got.segments[i].is_complete, want.segments[i].is_complete);
    }
  }

  nlohmann::json manifest_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<AsrModel> model_;
  RecognizerOptions options_;
};

TEST_P(RecognizerTest, AnySplitGivesTheTranscriptOfTheWhole) {
  const auto recognizer = make();
  for (const auto& [wave, about] : manifest_.at("waves").items()) {
    const auto samples = fixture_wave(manifest_, wave);
    for (const std::string language : {"", "English"}) {
      SCOPED_TRACE(wave + " " + language);
      const AsrRequest request{"", language};
      const Transcription whole = transcribe(*recognizer, samples, request);
      expect_same(stream(*recognizer, samples, {1600}, request), whole);
      expect_same(stream(*recognizer, samples, {1, 7, 8000, 320}, request), whole);
      expect_same(stream(*recognizer, samples, {samples.size()}, request), whole);
    }
  }
}

// A loud end raises the clip's maximum, so that what was frozen has to be done again.
TEST_P(RecognizerTest, LouderEndsChangeWhatWasFrozen) {
  const auto recognizer = make();
  auto samples = fixture_speech(manifest_, 11);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] *= i < 9 * 16000 ? 1e-3f : 1.0f;
  std::fill(samples.begin() + 20000, samples.begin() + 40000, 0.0f);
  expect_same(stream(*recognizer, samples, {1600}), transcribe(*recognizer, samples));
}

TEST_P(RecognizerTest, LengthsAtTheEdges) {
  const auto recognizer = make();
  const auto wave = fixture_speech(manifest_, 31.3);
  for (const size_t n :
       {0, 1, 150, 200, 201, 777, 4800, 7999, 8000, 15999, 16000, 32000, 128000, 128001, 480000, 480160}) {
    SCOPED_TRACE(n);
    const std::vector<float> samples(wave.begin(), wave.begin() + static_cast<std::ptrdiff_t>(n));
    const Transcription whole = transcribe(*recognizer, samples);
    EXPECT_EQ(whole.segments.size(), n > 0 ? 1u : 0u);
    expect_same(stream(*recognizer, samples, {4000}), whole);
  }
}

TEST_P(RecognizerTest, LengthsAtTheEdgesInElizaMode) {
  options_.mode = kElizaAsr;
  options_.max_tokens = 4;
  const auto recognizer = make();
  const auto wave = fixture_speech(manifest_, 31.3);
  for (const size_t n :
       {0, 1, 2, 150, 160, 199, 200, 201, 777, 7999, 8000, 32000, 128001, 479839, 480000, 480160}) {
    SCOPED_TRACE(n);
    const std::vector<float> samples(wave.begin(), wave.begin() + static_cast<std::ptrdiff_t>(n));
    expect_same(stream(*recognizer, samples, {4000}), transcribe(*recognizer, samples));
  }
}

TEST_P(RecognizerTest, LongRecordingsAreCutAlike) {
  options_.max_seconds = 10;
  options_.max_tokens = 6;
  const auto recognizer = make();
  const auto samples = fixture_speech(manifest_, 31.3);
  const Transcription whole = transcribe(*recognizer, samples);
  EXPECT_GE(whole.segments.size(), 3u);
  EXPECT_DOUBLE_EQ(whole.segments.back().end_seconds, 31.3);
  expect_same(stream(*recognizer, samples, {1600}), whole);
  expect_same(stream(*recognizer, samples, {100000, 333}), whole);
}

// A model that says how long a stretch it understands is given no longer ones.
TEST_P(RecognizerTest, PiecesAreNotLongerThanTheModelUnderstands) {
  const TemporaryFolder folder;
  auto files = *find_asr(asr_bundle(GetParam()));
  const auto set = [](uint32_t seconds) {
    return [=](GgufWriter& writer) { writer.set_u32("parlance.max_seconds", seconds); };
  };
  ASSERT_TRUE(copy_gguf(files.text, folder / "model.gguf", set(4)));
  ASSERT_TRUE(copy_gguf(files.text, folder / "wrong.gguf", set(0)));
  files.text = folder / "wrong.gguf";
  const auto wrong = AsrModel::load(files, *device_, {.huge_pages = false});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("parlance.max_seconds"), std::string::npos) << wrong.error().message;
  files.text = folder / "model.gguf";
  model_ = *AsrModel::load(files, *device_, {.huge_pages = false});
  options_.max_tokens = 6;
  const auto recognizer = make();
  const auto samples = fixture_speech(manifest_, 11);
  const Transcription whole = transcribe(*recognizer, samples);
  EXPECT_GE(whole.segments.size(), 3u);
  for (const AsrSegment& segment : whole.segments)
    EXPECT_LE(segment.end_seconds - segment.start_seconds, 4.0);
  expect_same(stream(*recognizer, samples, {1600}), whole);
  expect_same(stream(*recognizer, samples, {100000, 333}), whole);
}

TEST_P(RecognizerTest, SilentAndClippedAudioHasAResult) {
  options_.max_tokens = 4;
  const auto recognizer = make();
  const std::vector<float> silent(30000, 0.0f), clipped(30000, 1.0f), loud(30000, 1e6f);
  for (const auto* samples : {&silent, &clipped, &loud}) {
    expect_same(stream(*recognizer, *samples, {1000}), transcribe(*recognizer, *samples));
  }
}

TEST_P(RecognizerTest, RefusesWhatIsNoNumberAndWhatItDoesNotKnow) {
  const auto recognizer = make();
  std::vector<float> samples(2000, 0.1f);
  samples[1234] = std::numeric_limits<float>::quiet_NaN();
  const auto heard = recognizer->transcribe(samples, {});
  ASSERT_FALSE(heard);
  EXPECT_NE(heard.error().message.find("sample 1234"), std::string::npos) << heard.error().message;
  const auto stream = recognizer->open({});
  ASSERT_TRUE(stream);
  EXPECT_FALSE((*stream)->feed(samples));
  EXPECT_TRUE((*stream)->feed(std::span(samples).first(1000)));  // the stream is as it was
  EXPECT_TRUE((*stream)->finish());

  const auto unknown = recognizer->open({"", "Klingon"});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("Klingon"), std::string::npos) << unknown.error().message;
}

TEST_P(RecognizerTest, StreamsStayOpenAfterTheirEnd) {
  const auto recognizer = make();
  const auto first = fixture_speech(manifest_, 4.7), second = fixture_speech(manifest_, 2);
  const auto stream = *recognizer->open({});
  for (const auto* samples : {&first, &second}) {
    EXPECT_TRUE(stream->feed(*samples));
    const auto heard = stream->finish();
    ASSERT_TRUE(heard);
    expect_same(*heard, transcribe(*recognizer, *samples));
    EXPECT_TRUE(stream->partial().is_final);
    EXPECT_EQ(stream->partial().transcript, heard->transcript);
  }
  const auto nothing = stream->finish();
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->transcript, Transcript{});
}

// What is stable is a beginning of the text, and of every later one.
TEST_P(RecognizerTest, StableTextOnlyGrows) {
  const auto recognizer = make();
  const auto samples = fixture_speech(manifest_, 11);
  const auto stream = *recognizer->open({"", "English"});
  std::string stable;
  uint64_t revision = 0;
  int n_changes = 0;
  for (size_t at = 0; at < samples.size(); at += 1600) {
    ASSERT_TRUE(stream->feed(std::span(samples).subspan(at, std::min<size_t>(1600, samples.size() - at))));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const AsrPartial partial = stream->partial();
    EXPECT_TRUE(partial.transcript.text.starts_with(partial.stable)) << partial.transcript.text;
    EXPECT_TRUE(partial.stable.starts_with(stable)) << stable << " became " << partial.stable;
    EXPECT_GE(partial.revision, revision);
    n_changes += partial.revision != revision;
    revision = partial.revision;
    stable = partial.stable;
  }
  EXPECT_GT(n_changes, 1);
}

TEST_P(RecognizerTest, SeveralStreamsAtOnceAndNoMoreThanAllowed) {
  options_.n_streams = 3;
  const auto recognizer = make();
  const auto a = fixture_speech(manifest_, 11), b = fixture_speech(manifest_, 4.7);
  const Transcription want_a = transcribe(*recognizer, a), want_b = transcribe(*recognizer, b);
  std::vector<Transcription> got(3);
  std::vector<std::thread> speakers;
  for (size_t i = 0; i < 3; ++i)
    speakers.emplace_back([&, i] { got[i] = stream(*recognizer, i == 1 ? b : a, {1600 + 100 * i}); });
  for (auto& speaker : speakers) speaker.join();
  expect_same(got[0], want_a);
  expect_same(got[1], want_b);
  expect_same(got[2], want_a);

  std::vector<std::unique_ptr<AsrStream>> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(*recognizer->open({}));
  EXPECT_FALSE(recognizer->open({}));
  streams.pop_back();
  EXPECT_TRUE(recognizer->open({}));
  expect_same(transcribe(*recognizer, b), want_b);  // a recording has a place of its own
}

// Whoever has said little is not kept waiting by whoever has said much.
TEST_P(RecognizerTest, AShortStreamDoesNotWaitForALongOne) {
  const auto recognizer = make();
  const auto much = fixture_speech(manifest_, 31.3);
  const std::vector<float> little(much.begin(), much.begin() + 8000);
  const Transcription want = transcribe(*recognizer, little);
  std::atomic<bool> has_ended = false;
  const auto lengthy = *recognizer->open({}), brief = *recognizer->open({});
  const std::jthread waiting([&] {
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(lengthy->feed(much));
      EXPECT_TRUE(lengthy->finish());
    }
    has_ended = true;
  });
  while (lengthy->partial().revision == 0) std::this_thread::yield();
  ASSERT_TRUE(brief->feed(little));
  const auto heard = brief->finish();
  EXPECT_FALSE(has_ended);
  ASSERT_TRUE(heard);
  expect_same(*heard, want);
}

// Every new preview is told, and none any more when the stream is closed.
TEST_P(RecognizerTest, ChangesAreTold) {
  const auto recognizer = make();
  const auto samples = fixture_speech(manifest_, 3);
  std::atomic<int> n_told = 0;
  auto stream = *recognizer->open({}, [&] { ++n_told, n_told.notify_one(); });
  ASSERT_TRUE(stream->feed(samples));
  stream->pause();
  for (int seen = n_told; !stream->partial().is_final; seen = n_told) n_told.wait(seen);
  EXPECT_GE(n_told, 1);
  ASSERT_TRUE(stream->feed(samples));
  stream->pause();
  stream.reset();
  const int n_before = n_told;
  EXPECT_TRUE(recognizer->transcribe(samples, {}));
  EXPECT_EQ(n_told, n_before);
}

// The first preview takes long for a share of next to nothing: there is no other. Without a limit each new
// piece has one.
TEST_P(RecognizerTest, PreviewsTakeNoMoreThanTheirShare) {
  const auto samples = fixture_speech(manifest_, 3);
  constexpr size_t kFirst = kMelSampleRateHz * 6 / 10, kPiece = kMelSampleRateHz / 5;
  for (const double share : {0.0, 1e-9}) {
    options_.preview_share = share;
    const auto recognizer = make();
    std::atomic<int> n_told = 0;
    const auto stream = *recognizer->open({}, [&] { ++n_told, n_told.notify_one(); });
    ASSERT_TRUE(stream->feed(std::span(samples).first(kFirst)));
    n_told.wait(0);
    EXPECT_EQ(n_told, 1);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(stream->feed(std::span(samples).subspan(kFirst + static_cast<size_t>(i) * kPiece, kPiece)));
      if (share == 0) n_told.wait(i + 1);
    }
    EXPECT_EQ(n_told, share == 0 ? 4 : 1);
    EXPECT_TRUE(stream->finish());
  }
}

TEST_P(RecognizerTest, ClosingInTheMiddleIsSafe) {
  const auto recognizer = make();
  const auto samples = fixture_speech(manifest_, 11);
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const auto stream = recognizer->open({});
    ASSERT_TRUE(stream) << stream.error().message;
    ASSERT_TRUE((*stream)->feed(samples));
    if (round % 3 == 0) (*stream)->pause();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
  }
}

TEST_P(RecognizerTest, StreamsOutliveTheirRecogniser) {
  auto recognizer = make();
  const auto samples = fixture_speech(manifest_, 11);
  const auto stream = *recognizer->open({});
  ASSERT_TRUE(stream->feed(samples));
  recognizer.reset();
  EXPECT_FALSE(stream->finish());
  EXPECT_FALSE(stream->feed(samples));
  stream->partial();
  stream->pause();
}

TEST_P(RecognizerTest, RecordingsCanBeStopped) {
  const auto recognizer = make();
  const CancellationSource source;
  double seconds = 0;
  const auto heard = recognizer->transcribe(fixture_speech(manifest_, 31.3), {},
                                            {.on_seconds =
                                                 [&](double done) {
                                                   seconds = done;
                                                   source.cancel();
                                                 }},
                                            source.ticket());
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, ErrorCode::cancelled);
  EXPECT_EQ(seconds, 8);
}

// What was understood grows to the transcript, over the ends of pieces too.
TEST_P(RecognizerTest, TextIsToldWhileItIsMade) {
  options_.max_seconds = 10;
  const auto recognizer = make();
  const std::vector<float> samples = fixture_speech(manifest_, 31.3);
  std::vector<std::string> told;
  const auto heard = recognizer->transcribe(
      samples, {}, {.on_text = [&](const std::string& text) { told.push_back(text); }});
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_GT(heard->segments.size(), 2u);
  EXPECT_EQ(heard->transcript, recognizer->transcribe(samples, {})->transcript);
  int64_t n_sound = 0;
  for (const AsrSegment& segment : heard->segments) n_sound += segment.n_tokens.sound;
  EXPECT_NEAR(static_cast<double>(n_sound), 13 * 31.3, 13.0 * 3);
  for (size_t i = 1; i < told.size(); ++i) {
    const bool grows = told[i].starts_with(told[i - 1]);
    const bool begins_anew = told[i].size() < told[i - 1].size();  // random weights go round in circles
    EXPECT_TRUE(grows || begins_anew) << told[i - 1] << " | " << told[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RecognizerTest, ::testing::ValuesIn(asr_bundles()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace parlance::test
