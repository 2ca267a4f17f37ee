// Speech with shortcuts: what is streamed is what comes at once, and its sound begins before its codes are
// all decided.
#include "tts/support/tiny_tts.h"

namespace parlance::test {
namespace {

class SynthesizerQuality : public ::testing::TestWithParam<SpeechQuality> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
    tts_ = load_tiny_tts();
    request_.text = "The quick brown fox jumped over the lazy dog, and the world said hello.";
    request_.quality = GetParam();
    request_.is_processed = false;
  }

  LoadedTts tts_;
  SpeechRequest request_;
};

TEST_P(SynthesizerQuality, StreamedIsWhatComesAtOnce) {
  if (IsSkipped()) return;
  for (const double seconds : {0.5, 1.92, 5.0}) {
    request_.seconds = seconds;
    const auto whole = tts_.synthesizer->synthesize(request_);
    ASSERT_TRUE(whole) << whole.error().message;
    const Streamed streamed = stream_speech(*tts_.synthesizer, request_);
    ASSERT_TRUE(streamed.report) << streamed.report.error().message;
    EXPECT_EQ(streamed.report->chunks.front().codes, whole->report.chunks.front().codes);
    EXPECT_EQ(streamed.samples, whole->samples) << seconds;
    EXPECT_EQ(std::ssize(whole->samples), static_cast<int64_t>(seconds * kFramesPerSecond) * 960);
  }
}

TEST_P(SynthesizerQuality, SoundBeginsAfterTheFirstBlock) {
  if (IsSkipped()) return;
  request_.seconds = 2;
  int n_steps = 0, n_at_first_sound = -1;
  request_.on_progress = [&](const SpeechProgress& done) { n_steps = done.step; };
  const auto report = tts_.synthesizer->stream(request_, [&](std::span<const float> samples, bool is_last) {
    if (!is_last && !samples.empty() && n_at_first_sound < 0) n_at_first_sound = n_steps;
    return true;
  });
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_LE(n_at_first_sound, 8);
  EXPECT_GT(report->chunks.front().n_steps, n_at_first_sound);
}

TEST_P(SynthesizerQuality, TakesFewerColumnsThanExact) {
  if (IsSkipped()) return;
  request_.seconds = 5;
  const auto less = tts_.synthesizer->synthesize(request_);
  request_.quality = SpeechQuality::exact;
  const auto exact = tts_.synthesizer->synthesize(request_);
  ASSERT_TRUE(less && exact);
  EXPECT_LT(3 * less->report.chunks.front().n_columns, 2 * exact->report.chunks.front().n_columns);
}

// Frames further behind a first block of 10 than 10 are computed one of n, once; in the guidance row one is.
TEST_P(SynthesizerQuality, FarFramesAreComputedOnceForMany) {
  if (IsSkipped()) return;
  const auto columns = [&](int64_t n_frames, int64_t far_frames) {
    request_.seconds = static_cast<double>(n_frames) / kFramesPerSecond;
    request_.shortcuts = SpeechShortcuts{.first_frames = 10, .far_frames = far_frames};
    const auto speech = tts_.synthesizer->synthesize(request_);
    EXPECT_TRUE(speech) << speech.error().message;
    return speech ? speech->report.chunks.front().n_columns : 0;
  };
  for (const int64_t n_frames : {14, 15, 19, 20, 21, 22, 23, 24, 50}) {
    const int64_t all = columns(n_frames, 1), n_far = std::max<int64_t>(n_frames - 20, 0);
    for (const int64_t n : {2, 3, 4, 100})
      EXPECT_EQ(all - columns(n_frames, n), n_far - (n_far + n - 1) / n) << n_frames << ", one of " << n;
  }
}

// Every shortcut switched off, and as many steps: what is left is the order of sums.
TEST_P(SynthesizerQuality, WithoutShortcutsItIsExact) {
  if (IsSkipped()) return;
  request_.seconds = 1.2;
  request_.decoding.n_step = 8;
  request_.voice.reference = {.n_codebook = tts_.synthesizer->code_format().n_codebook, .codes = {}};
  for (int64_t i = 0; i < 5 * request_.voice.reference.n_codebook; ++i)
    request_.voice.reference.codes.push_back(static_cast<int32_t>(i % 7));
  request_.shortcuts = SpeechShortcuts{};
  const auto speech = tts_.synthesizer->synthesize(request_);
  request_.quality = SpeechQuality::exact;
  const auto exact = tts_.synthesizer->synthesize(request_);
  ASSERT_TRUE(speech && exact);
  const auto& a = speech->report.chunks.front().codes.codes;
  const auto& b = exact->report.chunks.front().codes.codes;
  ASSERT_EQ(a.size(), b.size());
  size_t n_alike = 0;
  for (size_t i = 0; i < a.size(); ++i) n_alike += a[i] == b[i];
  EXPECT_GT(n_alike, a.size() * 9 / 10);  // keys and values are kept in half precision
}

// The same voice for all that has none: made once, kept on disk, other for other words and seeds.
TEST_P(SynthesizerQuality, AVoiceWithoutReferenceHasAHiddenOne) {
  if (IsSkipped()) return;
  const TemporaryFolder folder;
  request_.seconds = 0.6;
  request_.decoding.n_step = 4;
  const auto columns_of = [&](Synthesizer& synthesizer, const SpeechRequest& request, int64_t& n_reference) {
    const auto speech = synthesizer.synthesize(request);
    EXPECT_TRUE(speech) << speech.error().message;
    n_reference = speech ? speech->report.chunks.front().n_reference : -1;
    return speech ? speech->report.chunks.front().codes : AudioCodes();
  };
  const auto n_files = [&] { return std::distance(std::filesystem::directory_iterator(folder.path()), {}); };
  int64_t n_reference = 0;
  Synthesizer first(*tts_.model, {.hidden_folder = folder.path()});
  const AudioCodes codes = columns_of(first, request_, n_reference);
  EXPECT_GE(n_reference, 3 * kFramesPerSecond);
  EXPECT_LE(n_reference, 4 * kFramesPerSecond);
  EXPECT_EQ(n_files(), 1);
  EXPECT_EQ(columns_of(first, request_, n_reference), codes);
  Synthesizer second(*tts_.model, {.hidden_folder = folder.path()});
  EXPECT_EQ(columns_of(second, request_, n_reference), codes);
  EXPECT_EQ(n_files(), 1);

  SpeechRequest other = request_;
  other.instruct = "female";
  columns_of(first, other, n_reference);
  EXPECT_EQ(n_files(), 2);
  other.decoding.seed = 7;
  columns_of(first, other, n_reference);
  EXPECT_EQ(n_files(), 3);

  other.quality = SpeechQuality::exact;
  columns_of(first, other, n_reference);
  EXPECT_EQ(n_reference, 0);
  EXPECT_EQ(n_files(), 3);
}

// Digits take long for their syllables as the model's frames are counted: such a chunk is spoken once more.
TEST_P(SynthesizerQuality, AChunkWithAnotherPaceIsSpokenAgain) {
  if (IsSkipped()) return;
  request_.chunking = {.chunk_seconds = 2, .threshold_seconds = 0};
  request_.checks_pace = true;
  request_.text = "The quick brown fox jumped over the lazy dog. 7 7 7 7 7 7 7 7 7 7 7 7.";
  const auto whole = tts_.synthesizer->synthesize(request_);
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_EQ(whole->report.chunks.size(), 2u);
  EXPECT_EQ(whole->report.chunks[0].n_attempts, 1);
  EXPECT_EQ(whole->report.chunks[1].n_attempts, 2);
  const Streamed streamed = stream_speech(*tts_.synthesizer, request_);
  EXPECT_EQ(streamed.samples, whole->samples);

  request_.text =
      "The quick brown fox jumped over the lazy dog. The lazy dog jumped over the quick brown fox.";
  const auto even = tts_.synthesizer->synthesize(request_);
  ASSERT_TRUE(even) << even.error().message;
  for (const SpokenChunk& chunk : even->report.chunks) EXPECT_EQ(chunk.n_attempts, 1);
}

INSTANTIATE_TEST_SUITE_P(Qualities, SynthesizerQuality,
                         ::testing::Values(SpeechQuality::standard, SpeechQuality::fast),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace parlance::test
