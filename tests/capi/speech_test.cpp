// Text to sound through the C library: the same as inside, in one piece and in many, and stopped at any
// moment.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "assistant/regions.h"
#include "assistant/speech.h"
#include "capi/support/client.h"

namespace parlance::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Chunks {
  std::vector<float> samples;
  int n_chunks = 0, n_finals = 0;
  int n_after_final = 0;
  int stop_at = -1;  // at which chunk to end
  std::thread::id thread = {};
  std::function<void()> on_chunk = {};

  static int take(const float* pcm, size_t n_samples, int is_final, void* user_data) {
    auto& self = *static_cast<Chunks*>(user_data);
    self.n_after_final += self.n_finals;
    self.thread = std::this_thread::get_id();
    if (is_final) {
      EXPECT_EQ(pcm, nullptr);
      EXPECT_EQ(n_samples, 0u);
      ++self.n_finals;
      return 1;  // counts for nothing
    }
    self.samples.insert(self.samples.end(), pcm, pcm + n_samples);
    if (self.on_chunk) self.on_chunk();
    return self.n_chunks++ == self.stop_at;
  }

  int stream(EliInferenceContext* ctx, const std::string& text, char** error, const char* voice = "default") {
    return eliza_inference_tts_synthesize_stream(ctx, text.data(), text.size(), voice, take, this, error);
  }
};

class CapiSpeech : public testing::Test {
 protected:
  static void SetUpTestSuite() { owned_ = demo_context({"tts"}); }
  static void TearDownTestSuite() { owned_.reset(); }
  static EliInferenceContext* ctx() { return owned_.get(); }

  ErrorText error_;

 private:
  inline static OwnedContext owned_;
};

TEST_F(CapiSpeech, IsWhatTheSynthesizerMakes) {
  Choice choice;
  choice.files.folder = demo_bundle();
  Regions regions(choice);
  const Narrator narrator(*regions.tts.acquire());
  SpeechRequest request;
  request.text = kQuestion;
  request.voice = *narrator.voice({.name = "slt"});
  EXPECT_EQ(spoken(ctx(), kQuestion, "slt"), narrator.say(request)->samples);

  request.chunking = kStreamedChunking;
  std::vector<float> expected;
  ASSERT_TRUE(narrator.stream(request, [&](std::span<const float> samples, bool) {
    expected.insert(expected.end(), samples.begin(), samples.end());
    return true;
  }));
  Chunks chunks;
  EXPECT_EQ(chunks.stream(ctx(), kQuestion, error_, "slt"), ELIZA_OK) << error_.text();
  EXPECT_EQ(chunks.samples, expected);
  EXPECT_GT(chunks.n_chunks, 1);
  EXPECT_EQ(chunks.n_finals, 1);
  EXPECT_EQ(chunks.n_after_final, 0);
  EXPECT_EQ(chunks.thread, std::this_thread::get_id());
  EXPECT_EQ(eliza_inference_tts_stream_supported(), 1);
}

TEST_F(CapiSpeech, HonoursTheLengthOfTheText) {
  const std::string longer = std::string(kQuestion) + " And of Spain?";
  std::vector<float> samples(24000 * 10);
  const int n = eliza_inference_tts_synthesize(ctx(), longer.data(), std::string_view(kQuestion).size(),
                                               "default", samples.data(), samples.size(), error_);
  ASSERT_GT(n, 0) << error_.text();
  samples.resize(static_cast<size_t>(n));
  EXPECT_EQ(samples, spoken(ctx()));
}

TEST_F(CapiSpeech, SaysHowMuchRoomItTakes) {
  const std::vector<float> expected = spoken(ctx());
  for (const size_t room : {size_t{0}, size_t{1}, expected.size() - 1}) {
    std::vector<float> samples(room);
    EXPECT_EQ(eliza_inference_tts_synthesize(ctx(), kQuestion, strlen(kQuestion), "default", samples.data(),
                                             room, error_),
              ELIZA_ERR_INVALID_ARG);
    EXPECT_NE(error_.text().find("required samples=" + std::to_string(expected.size())), std::string::npos)
        << error_.text();
  }
  std::vector<float> samples(expected.size());
  EXPECT_EQ(eliza_inference_tts_synthesize(ctx(), kQuestion, strlen(kQuestion), "default", samples.data(),
                                           samples.size(), error_),
            static_cast<int>(expected.size()));
  EXPECT_EQ(samples, expected);
}

TEST_F(CapiSpeech, RefusesWhatIsNoTextOrVoice) {
  float samples[8];
  const auto speak = [&](const char* text, size_t n, const char* voice) {
    return eliza_inference_tts_synthesize(ctx(), text, n, voice, samples, 8, error_);
  };
  EXPECT_EQ(speak("", 0, nullptr), ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(speak("a\xff", 2, nullptr), ELIZA_ERR_INVALID_ARG);
  EXPECT_NE(error_.text().find("byte 1"), std::string::npos) << error_.text();
  EXPECT_EQ(speak("...", 3, nullptr), ELIZA_ERR_INVALID_ARG) << error_.text();
  for (const char* voice : {"nobody", "../cache/voice-preset-slt", "/etc/passwd", "a/b", ".."}) {
    EXPECT_EQ(speak("hello", 5, voice), ELIZA_ERR_INVALID_ARG) << voice;
    EXPECT_FALSE(error_.is_null());
  }
  Chunks chunks;
  EXPECT_EQ(chunks.stream(ctx(), "hello", error_, "nobody"), ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(chunks.n_finals, 0) << "nothing had begun";
  EXPECT_EQ(eliza_inference_tts_synthesize_stream(ctx(), "hello", 5, nullptr, nullptr, nullptr, error_),
            ELIZA_ERR_INVALID_ARG);
}

TEST_F(CapiSpeech, IsEndedByItsTaker) {
  for (int stop_at = 0; stop_at < 3; ++stop_at) {
    Chunks chunks;
    chunks.stop_at = stop_at;
    EXPECT_EQ(chunks.stream(ctx(), kQuestion, error_), ELIZA_ERR_CANCELLED);
    EXPECT_FALSE(error_.is_null());
    EXPECT_EQ(chunks.n_chunks, stop_at + 1);
    EXPECT_EQ(chunks.n_finals, 1);
    EXPECT_EQ(chunks.n_after_final, 0);
  }
}

constexpr const char* kLong =
    "The first thing that I want to say is a long one, and there is more to come. The second is longer than "
    "the "
    "first. And the third one ends it all, after some more words that nobody needs.";

// At any moment: before the call, while the network runs, between chunks, afterwards.
TEST_F(CapiSpeech, IsCancelledAtAnyMoment) {
  Chunks whole;
  const auto begin = Clock::now();
  ASSERT_EQ(whole.stream(ctx(), kLong, error_), ELIZA_OK);
  const auto length = Clock::now() - begin;
  constexpr int kMoments = 6;
  for (int i = 0; i < kMoments; ++i) {
    Chunks chunks;
    std::atomic<bool> is_going = false;
    Clock::time_point cancelled_at;
    std::thread other([&] {
      is_going.wait(false);
      std::this_thread::sleep_for(length * i / (kMoments + 2));
      cancelled_at = Clock::now();
      EXPECT_EQ(eliza_inference_cancel_tts(ctx(), nullptr), ELIZA_OK);
    });
    is_going = true;
    is_going.notify_all();
    const int status = chunks.stream(ctx(), kLong, error_);
    other.join();
    if (status ==
        ELIZA_OK) {  // it had ended before: then the samples are all there, and the next call is meant
      EXPECT_EQ(chunks.samples, whole.samples);
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    } else {
      EXPECT_EQ(status, ELIZA_ERR_CANCELLED);
      EXPECT_LT(chunks.samples.size(), whole.samples.size());
    }
    EXPECT_EQ(chunks.n_finals, 1);
    EXPECT_EQ(chunks.n_after_final, 0);
  }
}

TEST_F(CapiSpeech, ACancelThatIsEarlyIsRemembered) {
  Chunks chunks;
  for (bool is_soon = false; !is_soon;) {  // a busy machine may take a break in between
    chunks = Chunks();
    const auto cancelled_at = Clock::now();
    ASSERT_EQ(eliza_inference_cancel_tts(ctx(), error_), ELIZA_OK);
    const int status = chunks.stream(ctx(), kQuestion, error_);
    is_soon = status == ELIZA_ERR_CANCELLED;
    ASSERT_TRUE(is_soon || Clock::now() - cancelled_at > std::chrono::milliseconds(200));
  }
  EXPECT_EQ(chunks.n_chunks, 0);
  EXPECT_EQ(chunks.n_finals, 1);
  chunks = Chunks();
  EXPECT_EQ(chunks.stream(ctx(), kQuestion, error_), ELIZA_OK) << "once: " << error_.text();

  ASSERT_EQ(eliza_inference_cancel_tts(ctx(), error_), ELIZA_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_EQ(chunks.stream(ctx(), kQuestion, error_), ELIZA_OK) << "and not for long: " << error_.text();

  // From inside of the call itself, where no other thread is needed.
  Chunks own;
  own.on_chunk = [&] { EXPECT_EQ(eliza_inference_cancel_tts(ctx(), nullptr), ELIZA_OK); };
  EXPECT_EQ(own.stream(ctx(), kLong, error_), ELIZA_ERR_CANCELLED);
  EXPECT_EQ(own.n_chunks, 1);
}

TEST_F(CapiSpeech, EncodesReferences) {
  const std::vector<float> voice = spoken(ctx());
  int k = 0, n_frames = 0;
  int* tokens = nullptr;
  ASSERT_EQ(eliza_inference_encode_reference(ctx(), voice.data(), voice.size(), 24000, &k, &n_frames, &tokens,
                                             error_),
            ELIZA_OK)
      << error_.text();
  EXPECT_EQ(k, 8);
  EXPECT_NEAR(n_frames, static_cast<double>(voice.size()) / 960, 1);
  ASSERT_NE(tokens, nullptr);
  EXPECT_TRUE(std::all_of(tokens, tokens + k * n_frames, [](int code) { return code >= 0 && code < 1024; }));
  EXPECT_GT(*std::max_element(tokens, tokens + k * n_frames), 0);
  eliza_inference_free_tokens(tokens);
  for (const int rate : {0, 16000, 48000, -1}) {
    EXPECT_EQ(eliza_inference_encode_reference(ctx(), voice.data(), voice.size(), rate, &k, &n_frames,
                                               &tokens, error_),
              ELIZA_ERR_INVALID_ARG);
    EXPECT_EQ(tokens, nullptr);
  }
  const float bad[3] = {0, NAN, 0};
  EXPECT_EQ(eliza_inference_encode_reference(ctx(), bad, 3, 24000, &k, &n_frames, &tokens, error_),
            ELIZA_ERR_INVALID_ARG);
  EXPECT_NE(error_.text().find("pcm[1]"), std::string::npos) << error_.text();
  eliza_inference_free_tokens(nullptr);
}

}  // namespace
}  // namespace parlance::test
