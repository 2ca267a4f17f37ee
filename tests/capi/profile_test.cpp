// The three profiles: what each calls itself, which struct it takes, which files it accepts; and that nothing
// is left of a library that is closed.
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/os/memory.h"
#include "capi/support/client.h"
#include "capi/support/profile_library.h"
#include "support/temporary_folder.h"

namespace parlance::test {
namespace {

namespace fs = std::filesystem;

size_t n_entries(const char* folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string without_free(char* error) {
  return error ? error : "";
}

// Of profiles 3 and 4, which the header that this file sees does not declare.
using Generate = int(EliLlmStream*, int, int (*)(int, const char*, void*), void*, char**);
using OpenV3 = EliLlmStream*(EliInferenceContext*, const EliLlmStreamConfigV3*, char**);

TEST(CapiProfiles, SayWhoTheyAre) {
  for (const ProfilePath& profile : kProfiles) {
    const ProfileLibrary library(profile.path);
    EXPECT_STREQ(PARLANCE_OF(library, eliza_inference_abi_version)(), profile.abi);
    const std::string abi = profile.abi;
    EXPECT_EQ(library.has("eliza_inference_encode_reference"), abi != "3");
    EXPECT_EQ(library.has("eliza_inference_llm_stream_next"), abi == "12");
    EXPECT_EQ(library.has("eliza_inference_llm_stream_generate"), abi != "12");
    EXPECT_EQ(library.has("eliza_inference_wakeword_open"), abi == "12");
  }
}

struct Generated {
  std::vector<int> tokens;
  std::string text;
  int stop_at = -1;
  std::thread::id thread = {};

  static int take(int token, const char* piece, void* user_data) {
    auto& self = *static_cast<Generated*>(user_data);
    self.thread = std::this_thread::get_id();
    self.tokens.push_back(token);
    self.text += piece;
    return static_cast<int>(self.tokens.size()) == self.stop_at;
  }
};

TEST(CapiProfiles, OlderLoadersGetWholeAnswers) {
  const auto with_tokens = demo_context();
  const std::vector<int> prompt = tokens_of(with_tokens.get(), prompt_of(kQuestion));
  for (const ProfilePath& profile : std::span(kProfiles).first(2)) {
    const ProfileLibrary library(profile.path);
    char* error = nullptr;
    EliInferenceContext* ctx = PARLANCE_OF(library, eliza_inference_create)(demo_bundle().c_str(), &error);
    ASSERT_NE(ctx, nullptr) << without_free(error);
    int n_events = 0;
    const auto count = [](const EliVerifierEvent*, void* user_data) { ++*static_cast<int*>(user_data); };
    EXPECT_EQ(PARLANCE_OF(library, eliza_inference_set_verifier_callback)(ctx, count, &n_events, &error),
              ELIZA_OK);
    EliLlmStreamConfigV3 config = {};
    config.max_tokens = 40;
    EliLlmStream* stream = library.get<OpenV3>("eliza_inference_llm_stream_open")(ctx, &config, &error);
    ASSERT_NE(stream, nullptr) << without_free(error);
    const auto prefill = PARLANCE_OF(library, eliza_inference_llm_stream_prefill);
    const auto generate = library.get<Generate>("eliza_inference_llm_stream_generate");
    ASSERT_EQ(prefill(stream, prompt.data(), prompt.size(), &error), ELIZA_OK) << without_free(error);
    Generated all;
    const int n_said = generate(stream, 0, Generated::take, &all, &error);
    EXPECT_EQ(n_said, static_cast<int>(all.tokens.size()));
    EXPECT_EQ(all.text, "The capital of France is Paris.");
    EXPECT_EQ(all.thread, std::this_thread::get_id());
    // The bundle has a drafter. Whether it pays is measured, and on a busy machine that may take a while.
    for (int again = 0; again < 500 && n_events == 0; ++again) {
      Generated same;
      ASSERT_EQ(prefill(stream, prompt.data(), prompt.size(), &error), ELIZA_OK) << without_free(error);
      EXPECT_GT(generate(stream, 0, Generated::take, &same, &error), 0);
    }
    EXPECT_GT(n_events, 0);
    Generated none;
    EXPECT_EQ(generate(stream, 0, Generated::take, &none, &error), ELIZA_ERR_INVALID_ARG)
        << "nothing new was put in";
    PARLANCE_OF(library, eliza_inference_free_string)(error);
    error = nullptr;

    ASSERT_EQ(prefill(stream, prompt.data(), prompt.size(), &error), ELIZA_OK);
    Generated some;
    EXPECT_EQ(generate(stream, 4, Generated::take, &some, &error), 4);
    EXPECT_EQ(some.tokens, std::vector<int>(all.tokens.begin(), all.tokens.begin() + 4));
    ASSERT_EQ(prefill(stream, prompt.data(), prompt.size(), &error), ELIZA_OK);
    Generated stopped;
    stopped.stop_at = 2;
    EXPECT_EQ(generate(stream, 0, Generated::take, &stopped, &error), ELIZA_ERR_CANCELLED);
    EXPECT_EQ(stopped.tokens.size(), 2u);
    PARLANCE_OF(library, eliza_inference_free_string)(error);
    PARLANCE_OF(library, eliza_inference_destroy)(ctx);
  }
}

// Profile 3 takes the speech model by the names of its publisher, or of a manifest, and no other pair of
// files.
TEST(CapiProfiles, TheThirdWantsCanonicalSpeechFiles) {
  const fs::path demo = demo_bundle();
  for (const bool is_canonical : {false, true}) {
    const TemporaryFolder folder;
    fs::create_directories(folder / "tts");
    fs::copy_file(demo / "tts/base.gguf",
                  folder / "tts" / (is_canonical ? "omnivoice-base-Q8_0.gguf" : "base.gguf"));
    fs::copy_file(demo / "tts/codec.gguf",
                  folder / "tts" / (is_canonical ? "omnivoice-tokenizer-Q8_0.gguf" : "codec.gguf"));
    for (const ProfilePath& profile : kProfiles) {
      const ProfileLibrary library(profile.path);
      char* error = nullptr;
      EliInferenceContext* ctx = PARLANCE_OF(library, eliza_inference_create)(folder.path().c_str(), &error);
      ASSERT_NE(ctx, nullptr);
      const int status = PARLANCE_OF(library, eliza_inference_mmap_acquire)(ctx, "tts", &error);
      const bool is_strict = std::string(profile.abi) == "3";
      EXPECT_EQ(status, is_strict && !is_canonical ? ELIZA_ERR_BUNDLE_INVALID : ELIZA_OK)
          << without_free(error);
      EXPECT_EQ(status != ELIZA_OK, without_free(error).find("omnivoice-base*.gguf") != std::string::npos);
      PARLANCE_OF(library, eliza_inference_free_string)(error);
      PARLANCE_OF(library, eliza_inference_destroy)(ctx);
    }
  }
}

// What must not grow.
struct Traces {
  size_t n_files = n_entries("/proc/self/fd");
  size_t n_threads = n_entries("/proc/self/task");
  size_t memory = resident_memory();
};

constexpr size_t kSomeMemory = size_t{8} << 20;

TEST(CapiLeaks, ContextsLeaveNothing) {
  const auto cycle = [](int i) {
    const OwnedContext ctx = demo_context();
    ErrorText error;
    if (i % 50 != 0) return;
    // Sometimes with threads, mappings and sequences.
    EliVad* vad = eliza_inference_vad_open(ctx.get(), 16000, error);
    EXPECT_NE(vad, nullptr);
    EliLlmStreamConfig config = {};
    EliLlmStream* stream = eliza_inference_llm_stream_open(ctx.get(), &config, error);
    const int token = 5;
    EXPECT_EQ(eliza_inference_llm_stream_prefill(stream, &token, 1, error), ELIZA_OK);
    EXPECT_EQ(eliza_inference_mmap_acquire(ctx.get(), "asr", error), ELIZA_OK);
    EXPECT_NE(eliza_inference_asr_stream_open(ctx.get(), 44100, error), nullptr);
  };
  for (int i = 0; i < 101; ++i) cycle(i);
  const Traces before;
  for (int i = 1; i <= 1000; ++i) cycle(i);
  const Traces after;
  EXPECT_EQ(after.n_files, before.n_files);
  EXPECT_EQ(after.n_threads, before.n_threads);
  EXPECT_TRUE(!kMemoryTells || after.memory < before.memory + kSomeMemory) << after.memory - before.memory;
}

TEST(CapiLeaks, LibrariesLeaveNothing) {
  const auto cycle = [](int i) {
    const ProfilePath& profile = kProfiles[i % 2];
    const ProfileLibrary library(profile.path);
    char* error = nullptr;
    EliInferenceContext* ctx = PARLANCE_OF(library, eliza_inference_create)(demo_bundle().c_str(), &error);
    ASSERT_NE(ctx, nullptr);
    if (i % 100 < 2) {
      EXPECT_EQ(PARLANCE_OF(library, eliza_inference_mmap_acquire)(ctx, "asr", &error), ELIZA_OK);
      EXPECT_NE(PARLANCE_OF(library, eliza_inference_asr_stream_open)(ctx, 16000, &error), nullptr);
    }
    PARLANCE_OF(library, eliza_inference_destroy)(ctx);
  };
  for (int i = 0; i < 102; ++i) cycle(i);
  const Traces before;
  for (int i = 0; i < 1000; ++i) cycle(i);
  const Traces after;
  EXPECT_EQ(after.n_files, before.n_files);
  EXPECT_EQ(after.n_threads, before.n_threads);
  EXPECT_TRUE(!kMemoryTells || after.memory < before.memory + kSomeMemory) << after.memory - before.memory;
}

// Threads that use, close and destroy the same things: any order is refused or answered, and none is lost.
TEST(CapiThreads, DestroyingUnderUseIsSafe) {
  for (int round = 0; round < 20; ++round) {
    auto ctx = demo_context({"tts"});
    EliInferenceContext* raw = ctx.get();
    std::vector<std::thread> threads;
    threads.emplace_back([raw] {
      const auto ignore = [](const float*, size_t, int, void*) { return 0; };
      const int status = eliza_inference_tts_synthesize_stream(raw, kQuestion, strlen(kQuestion), nullptr,
                                                               ignore, nullptr, nullptr);
      EXPECT_TRUE(status == ELIZA_OK || status == ELIZA_ERR_CANCELLED || status == ELIZA_ERR_INVALID_ARG)
          << status;
    });
    threads.emplace_back([raw] {
      const float silence[512] = {};
      float probability;
      EliVad* vad = eliza_inference_vad_open(raw, 16000, nullptr);
      while (eliza_inference_vad_process(vad, silence, 512, &probability, nullptr) == ELIZA_OK) continue;
      eliza_inference_vad_close(vad);
    });
    threads.emplace_back([raw] {
      EliLlmStreamConfig config = {};
      EliLlmStream* stream = eliza_inference_llm_stream_open(raw, &config, nullptr);
      const int prompt[] = {5, 6, 7};
      eliza_inference_llm_stream_prefill(stream, prompt, 3, nullptr);
      int token;
      size_t n;
      char text[16];
      while (eliza_inference_llm_stream_next(stream, &token, 1, &n, text, sizeof text, nullptr, nullptr,
                                             nullptr) == 0)
        continue;
      eliza_inference_llm_stream_close(stream);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(4 * round));
    ctx.reset();
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace parlance::test
