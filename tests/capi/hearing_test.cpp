// Sound to text through the C library: recordings, streams of any rate, the detector, and voices compared.
#include <cmath>
#include <filesystem>

#include "asr/support/tiny_aligner.h"
#include "assistant/regions.h"
#include "assistant/transcriber.h"
#include "audio/audio_file.h"
#include "audio/resampler.h"
#include "capi/support/client.h"
#include "speaker/speaker_verifier.h"
#include "support/temporary_folder.h"
#include "vad/silero.h"

namespace parlance::test {
namespace {

namespace fs = std::filesystem;

class CapiHearing : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    owned_ = demo_context({"tts", "asr"});
    samples_ = *resample(spoken(owned_.get()), 24000, 16000);
  }
  static void TearDownTestSuite() { owned_.reset(); }
  static EliInferenceContext* ctx() { return owned_.get(); }
  static const std::vector<float>& samples() { return samples_; }
  static std::vector<float> at_rate(int rate) { return *resample(samples_, 16000, rate); }

  std::string transcribe(const std::vector<float>& samples, int rate) {
    char text[4096];
    const int n = eliza_inference_asr_transcribe(ctx(), samples.data(), samples.size(), rate, text,
                                                 sizeof text, error_);
    EXPECT_GE(n, 0) << error_.text();
    EXPECT_EQ(strlen(text), static_cast<size_t>(n));
    return text;
  }

  ErrorText error_;

 private:
  inline static OwnedContext owned_;
  inline static std::vector<float> samples_;
};

TEST_F(CapiHearing, RecordingsOfAnyRate) {
  Choice choice;
  choice.files.folder = demo_bundle();
  Regions regions(choice);
  const auto ears = *regions.asr.acquire();
  EXPECT_EQ(transcribe(samples(), 16000), hear_recording(*ears->recognizer, samples(), {})->transcript.text);
  for (const int rate : {8000, 16000, 22050, 44100, 48000, 96000})
    EXPECT_EQ(transcribe(at_rate(rate), rate), kQuestion);
}

TEST_F(CapiHearing, TextEndsInsideItsBufferAndInsideNoCharacter) {
  for (size_t room = 1; room < 40; ++room) {
    std::vector<char> text(room, '#');
    const int n = eliza_inference_asr_transcribe(ctx(), samples().data(), samples().size(), 16000,
                                                 text.data(), room, error_);
    EXPECT_EQ(n, static_cast<int>(std::min(room - 1, strlen(kQuestion)))) << error_.text();
    EXPECT_EQ(std::string(text.data()), std::string(kQuestion).substr(0, static_cast<size_t>(n)));
    if (room == 3) room = 29;
  }
}

TEST_F(CapiHearing, RefusesWhatIsNoSound) {
  char text[16] = "before";
  EXPECT_EQ(eliza_inference_asr_transcribe(ctx(), nullptr, 0, 16000, text, sizeof text, error_), 0);
  EXPECT_STREQ(text, "");
  const auto refused = [&](const float* pcm, size_t n, int rate) {
    EXPECT_EQ(eliza_inference_asr_transcribe(ctx(), pcm, n, rate, text, sizeof text, error_),
              ELIZA_ERR_INVALID_ARG);
    EXPECT_FALSE(error_.is_null());
  };
  const float bad[2] = {0, INFINITY};
  refused(bad, 2, 16000);
  refused(nullptr, 5, 16000);
  refused(samples().data(), SIZE_MAX, 16000);
  for (const int rate : {0, -16000, 999, 400000}) refused(samples().data(), 100, rate);
  EXPECT_EQ(eliza_inference_asr_transcribe(ctx(), bad, 1, 16000, text, 0, error_), ELIZA_ERR_INVALID_ARG);
}

TEST_F(CapiHearing, StreamsSayWhatRecordingsDo) {
  EXPECT_EQ(eliza_inference_asr_stream_supported(), 1);
  for (const int rate : {16000, 44100}) {
    const std::vector<float> sound = at_rate(rate);
    for (const size_t piece : {size_t{441}, size_t{4000}, sound.size()}) {
      EliAsrStream* stream = eliza_inference_asr_stream_open(ctx(), rate, error_);
      ASSERT_NE(stream, nullptr) << error_.text();
      char text[4096];
      for (size_t at = 0; at < sound.size(); at += piece) {
        const size_t n = std::min(piece, sound.size() - at);
        ASSERT_EQ(eliza_inference_asr_stream_feed(stream, sound.data() + at, n, error_), static_cast<int>(n));
        EXPECT_GE(eliza_inference_asr_stream_partial(stream, text, sizeof text, nullptr, nullptr, error_), 0);
      }
      int tokens[64];
      for (int round = 0; round < 2; ++round) {
        size_t n_tokens = 64;
        EXPECT_EQ(eliza_inference_asr_stream_finish(stream, text, sizeof text, tokens, &n_tokens, error_),
                  static_cast<int>(strlen(kQuestion)))
            << error_.text();
        EXPECT_EQ(std::string(text), kQuestion);
        int* expected = nullptr;
        size_t n_expected = 0;
        ASSERT_EQ(eliza_inference_tokenize(ctx(), text, strlen(text), 0, 0, &expected, &n_expected, error_),
                  ELIZA_OK);
        EXPECT_EQ(std::vector<int>(tokens, tokens + n_tokens),
                  std::vector<int>(expected, expected + n_expected));
        eliza_inference_free_tokens(expected);
      }
      size_t few = 2;
      EXPECT_GT(eliza_inference_asr_stream_partial(stream, text, sizeof text, tokens, &few, error_), 0);
      EXPECT_EQ(few, 2u);
      EXPECT_EQ(eliza_inference_asr_stream_feed(stream, sound.data(), 1, error_), ELIZA_ERR_INVALID_ARG);
      eliza_inference_asr_stream_close(stream);
      EXPECT_EQ(eliza_inference_asr_stream_feed(stream, sound.data(), 1, error_), ELIZA_ERR_INVALID_ARG);
      eliza_inference_asr_stream_close(stream);
    }
  }
}

TEST_F(CapiHearing, OfNothingStreamsHearNothing) {
  EliAsrStream* stream = eliza_inference_asr_stream_open(ctx(), 48000, error_);
  ASSERT_NE(stream, nullptr);
  char text[8];
  EXPECT_EQ(eliza_inference_asr_stream_feed(stream, nullptr, 0, error_), 0);
  EXPECT_EQ(eliza_inference_asr_stream_partial(stream, text, sizeof text, nullptr, nullptr, error_), 0);
  EXPECT_EQ(eliza_inference_asr_stream_finish(stream, text, sizeof text, nullptr, nullptr, error_), 0);
  eliza_inference_asr_stream_close(stream);
}

TEST_F(CapiHearing, AsManyStreamsAsThereIsRoomFor) {
  std::vector<EliAsrStream*> streams;
  while (EliAsrStream* stream = eliza_inference_asr_stream_open(ctx(), 16000, error_)) {
    streams.push_back(stream);
    ASSERT_LT(streams.size(), 100u);
  }
  EXPECT_GE(streams.size(), 2u);
  EXPECT_FALSE(error_.is_null());
  // Their region stays for them.
  EXPECT_EQ(eliza_inference_mmap_evict(ctx(), "asr", error_), ELIZA_OK);
  char text[256];
  EXPECT_EQ(eliza_inference_asr_stream_feed(streams[0], samples().data(), samples().size(), error_),
            static_cast<int>(samples().size()));
  EXPECT_GT(eliza_inference_asr_stream_finish(streams[0], text, sizeof text, nullptr, nullptr, error_), 0);
  EXPECT_STREQ(text, kQuestion);
  EXPECT_EQ(eliza_inference_asr_stream_open(ctx(), 16000, error_), nullptr) << "it is not acquired";
  for (EliAsrStream* stream : streams) eliza_inference_asr_stream_close(stream);
  ASSERT_EQ(eliza_inference_mmap_acquire(ctx(), "asr", error_), ELIZA_OK);
}

TEST_F(CapiHearing, TheDetectorIsSilero) {
  EXPECT_EQ(eliza_inference_vad_supported(), 1);
  for (const int rate : {8000, 0, 48000}) EXPECT_EQ(eliza_inference_vad_open(ctx(), rate, error_), nullptr);
  EliVad* vad = eliza_inference_vad_open(ctx(), 16000, error_);
  ASSERT_NE(vad, nullptr) << error_.text();
  Choice choice;
  choice.files.folder = demo_bundle();
  SileroVad expected((*VadRegion::load(choice))->model);
  float most = 0;
  for (int round = 0; round < 2; ++round) {
    for (size_t at = 0; at + kSileroWindow <= samples().size(); at += kSileroWindow) {
      float probability = -1;
      ASSERT_EQ(eliza_inference_vad_process(vad, samples().data() + at, kSileroWindow, &probability, error_),
                ELIZA_OK);
      EXPECT_EQ(probability, expected.process(std::span(samples()).subspan(at).first<kSileroWindow>()));
      most = std::max(most, probability);
    }
    EXPECT_EQ(eliza_inference_vad_reset(vad, error_), ELIZA_OK);
    expected.reset();
  }
  EXPECT_GT(most, 0.8f);
  float probability = -1;
  for (const size_t n : {0, 1, 511, 513, 1024}) {
    EXPECT_EQ(eliza_inference_vad_process(vad, samples().data(), n, &probability, error_),
              ELIZA_ERR_INVALID_ARG);
  }
  EXPECT_EQ(probability, -1);
  eliza_inference_vad_close(vad);
  EXPECT_EQ(eliza_inference_vad_reset(vad, error_), ELIZA_ERR_INVALID_ARG);
}

TEST_F(CapiHearing, ComparesVoices) {
  EXPECT_EQ(eliza_inference_speaker_supported(), 1);
  EliSpeaker* speaker = eliza_inference_speaker_open(ctx(), nullptr, error_);
  ASSERT_NE(speaker, nullptr) << error_.text();
  std::vector<float> voice(ELIZA_SPEAKER_EMBEDDING_DIM, -1);
  ASSERT_EQ(eliza_inference_speaker_embed(speaker, samples().data(), samples().size(), voice.data(), error_),
            ELIZA_OK)
      << error_.text();
  const auto verifier = SpeakerVerifier::load(source_root() / "models/demo/speaker/speaker-verifier.gguf");
  std::vector<float> expected = verifier->embed(samples());
  expected.resize(ELIZA_SPEAKER_EMBEDDING_DIM);
  EXPECT_EQ(voice, expected);
  EXPECT_EQ(eliza_inference_speaker_embed(speaker, samples().data(), 0, voice.data(), error_),
            ELIZA_ERR_INVALID_ARG);
  eliza_inference_speaker_close(speaker);
  EXPECT_EQ(eliza_inference_speaker_open(ctx(), "/no/such.gguf", error_), nullptr);
  EXPECT_FALSE(error_.is_null());
}

TEST_F(CapiHearing, TimesOfWordsNeedAnAligner) {
  char text[256];
  int start[8], end[8];
  size_t n = 8;
  EXPECT_EQ(eliza_inference_asr_transcribe_timed(ctx(), samples().data(), samples().size(), 16000, text,
                                                 sizeof text, start, end, &n, error_),
            ELIZA_ERR_BUNDLE_INVALID);
  EXPECT_NE(error_.text().find("ForcedAligner"), std::string::npos) << error_.text();
}

TEST_F(CapiHearing, WordsHaveTimes) {
  PARLANCE_REQUIRE_FIXTURES("asr/bundle-tiny");
  EXPECT_EQ(eliza_inference_asr_timestamps_supported(), 1);
  const TemporaryFolder folder;
  fs::create_directories(folder / "asr");
  for (const char* name : {"eliza-1-asr.gguf", "eliza-1-asr-mmproj.gguf"})
    fs::copy_file(fs::path(demo_bundle()) / "asr" / name, folder / "asr" / name);
  write_aligner(folder / "asr", std::vector<float>(64 * kAlignerClasses, 0));  // everything is said at once
  const OwnedContext timed(eliza_inference_create(folder.path().c_str(), error_));
  ASSERT_EQ(eliza_inference_mmap_acquire(timed.get(), "asr", error_), ELIZA_OK) << error_.text();
  char text[256];
  int start[8], end[8];
  for (const size_t room : {size_t{8}, size_t{2}}) {
    size_t n = room;
    EXPECT_EQ(eliza_inference_asr_transcribe_timed(timed.get(), samples().data(), samples().size(), 16000,
                                                   text, sizeof text, start, end, &n, error_),
              static_cast<int>(strlen(kQuestion)))
        << error_.text();
    EXPECT_STREQ(text, kQuestion);
    EXPECT_EQ(n, std::min<size_t>(room, 6)) << "words";
    for (size_t i = 0; i < n; ++i) EXPECT_LE(start[i], end[i]);
  }
  size_t n = 8;
  EXPECT_EQ(eliza_inference_asr_transcribe_timed(timed.get(), nullptr, 0, 16000, text, sizeof text, start,
                                                 end, &n, error_),
            0);
  EXPECT_EQ(n, 0u);
}

}  // namespace
}  // namespace parlance::test
