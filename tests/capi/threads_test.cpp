// Contexts of several threads at once: each is alone with its own, and hears, says and answers what one does
// that is alone in the process. Run under the thread sanitizer, too.
#include <atomic>
#include <thread>

#include "capi/support/client.h"

namespace parlance::test {
namespace {

constexpr int kThreads = 4;

struct AllSaid {
  std::vector<float> speech, streamed;
  std::string heard, heard_live;
  std::vector<int> answer;
  float speech_probability = 0;

  bool operator==(const AllSaid&) const = default;
};

int collect_samples(const float* pcm, size_t n, int, void* user_data) {
  auto& samples = *static_cast<std::vector<float>*>(user_data);
  samples.insert(samples.end(), pcm, pcm + n);
  return 0;
}

std::vector<int> whole_answer(EliInferenceContext* ctx) {
  ErrorText error;
  EliLlmStreamConfig config = {};
  config.n_gpu_layers = -1;
  EliLlmStream* stream = eliza_inference_llm_stream_open(ctx, &config, error);
  const std::vector<int> prompt = tokens_of(ctx, prompt_of(kQuestion));
  EXPECT_EQ(eliza_inference_llm_stream_prefill(stream, prompt.data(), prompt.size(), error), ELIZA_OK)
      << error.text();
  std::vector<int> said;
  for (int status = 0; status == 0;) {
    int tokens[32];
    char text[1024];
    size_t n = 0;
    status =
        eliza_inference_llm_stream_next(stream, tokens, 32, &n, text, sizeof text, nullptr, nullptr, error);
    EXPECT_GE(status, 0) << error.text();
    said.insert(said.end(), tokens, tokens + n);
  }
  eliza_inference_llm_stream_close(stream);
  return said;
}

std::string heard_live(EliInferenceContext* ctx, const std::vector<float>& speech) {
  ErrorText error;
  EliAsrStream* stream = eliza_inference_asr_stream_open(ctx, 24000, error);
  char text[1024] = "";
  constexpr size_t kPiece = 2400;
  for (size_t at = 0; at < speech.size(); at += kPiece) {
    EXPECT_GE(eliza_inference_asr_stream_feed(stream, speech.data() + at,
                                              std::min(kPiece, speech.size() - at), error),
              0)
        << error.text();
    EXPECT_GE(eliza_inference_asr_stream_partial(stream, text, sizeof text, nullptr, nullptr, error), 0);
  }
  EXPECT_GE(eliza_inference_asr_stream_finish(stream, text, sizeof text, nullptr, nullptr, error), 0)
      << error.text();
  eliza_inference_asr_stream_close(stream);
  return text;
}

// All that a context does, from its creation to its end.
AllSaid work() {
  const auto ctx = demo_context({"tts", "asr"});
  AllSaid said;
  ErrorText error;
  said.speech = spoken(ctx.get());
  const std::string question = kQuestion;
  EXPECT_EQ(eliza_inference_tts_synthesize_stream(ctx.get(), question.data(), question.size(), "default",
                                                  collect_samples, &said.streamed, error),
            ELIZA_OK)
      << error.text();
  char text[1024];
  EXPECT_GT(eliza_inference_asr_transcribe(ctx.get(), said.speech.data(), said.speech.size(), 24000, text,
                                           sizeof text, error),
            0)
      << error.text();
  said.heard = text;
  said.heard_live = heard_live(ctx.get(), said.speech);
  said.answer = whole_answer(ctx.get());
  EliVad* vad = eliza_inference_vad_open(ctx.get(), 16000, error);
  EXPECT_EQ(
      eliza_inference_vad_process(vad, said.speech.data() + 12000, 512, &said.speech_probability, error),
      ELIZA_OK);
  eliza_inference_vad_close(vad);
  return said;
}

TEST(CapiThreads, FourContextsAtOnceAreEachAlone) {
  const AllSaid expected = work();
  EXPECT_EQ(expected.heard, kQuestion);
  EXPECT_EQ(expected.heard_live, kQuestion);
  std::vector<AllSaid> said(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&said, i] { said[static_cast<size_t>(i)] = work(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const AllSaid& one : said) EXPECT_TRUE(one == expected);
}

// One context in many hands: speech is cancelled, regions go and come, handles are closed, while others use
// them. Each call ends in one of its ways.
TEST(CapiThreads, OneContextInManyHands) {
  const auto ctx = demo_context({"tts", "asr"});
  const std::vector<float> speech = spoken(ctx.get());
  std::atomic<int> n_working = 3;
  const auto may_be = [](int status) {
    return status >= 0 || status == ELIZA_ERR_CANCELLED || status == ELIZA_ERR_INVALID_ARG;
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < 3; ++i) {
      std::vector<float> samples;
      EXPECT_TRUE(may_be(eliza_inference_tts_synthesize_stream(ctx.get(), kQuestion, 30, "default",
                                                               collect_samples, &samples, nullptr)));
    }
    --n_working;
  });
  threads.emplace_back([&] {
    char text[1024];
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(may_be(eliza_inference_asr_transcribe(ctx.get(), speech.data(), speech.size(), 24000, text,
                                                        sizeof text, nullptr)));
    }
    --n_working;
  });
  threads.emplace_back([&] {
    for (int i = 0; i < 3; ++i) whole_answer(ctx.get());
    --n_working;
  });
  while (n_working > 0) {
    EXPECT_EQ(eliza_inference_cancel_tts(ctx.get(), nullptr), ELIZA_OK);
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    for (const char* region : {"asr", "tts"}) {
      EXPECT_EQ(eliza_inference_mmap_evict(ctx.get(), region, nullptr), ELIZA_OK);
      EXPECT_EQ(eliza_inference_mmap_acquire(ctx.get(), region, nullptr), ELIZA_OK);
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace parlance::test
