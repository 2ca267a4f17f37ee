// Contexts, regions, and the rules that all functions keep.
#include <filesystem>
#include <fstream>

#include "base/os/memory.h"
#include "capi/support/client.h"
#include "support/temporary_folder.h"

namespace parlance::test {
namespace {

namespace fs = std::filesystem;

TEST(CapiContext, IsOfAFolderThatIsThere) {
  ErrorText error;
  EXPECT_EQ(eliza_inference_create(nullptr, error), nullptr);
  EXPECT_NE(error.text().find("bundle_dir is required"), std::string::npos) << error.text();
  EXPECT_EQ(eliza_inference_create("", error), nullptr);
  EXPECT_EQ(eliza_inference_create("/no/such/folder", error), nullptr);
  EXPECT_NE(error.text().find("bundle_dir does not exist"), std::string::npos) << error.text();
  EXPECT_EQ(eliza_inference_create("/no/such/folder", nullptr), nullptr) << "and no place for the error";

  const TemporaryFolder folder;
  EliInferenceContext* ctx = eliza_inference_create(folder.path().c_str(), error);
  ASSERT_NE(ctx, nullptr) << "an empty folder is one to put models into: " << error.text();
  EXPECT_TRUE(error.is_null());
  EXPECT_EQ(eliza_inference_mmap_acquire(ctx, "tts", error), ELIZA_ERR_BUNDLE_INVALID);
  EXPECT_FALSE(error.is_null());
  EXPECT_EQ(eliza_inference_mmap_acquire(ctx, "asr", error), ELIZA_ERR_BUNDLE_INVALID);
  EXPECT_EQ(eliza_inference_mmap_acquire(ctx, "text", error), ELIZA_ERR_BUNDLE_INVALID);
  EXPECT_EQ(eliza_inference_mmap_acquire(ctx, "dflash", error), ELIZA_OK) << "no drafter is none";
  eliza_inference_destroy(ctx);
  eliza_inference_destroy(ctx);  // it is of no use any more, and that is known
  eliza_inference_destroy(nullptr);

  std::ofstream(folder / "eliza-1.manifest.json") << "{";
  EXPECT_EQ(eliza_inference_create(folder.path().c_str(), error), nullptr);
  EXPECT_NE(error.text().find("eliza-1.manifest.json"), std::string::npos) << error.text();
}

TEST(CapiContext, RegionsHaveSevenNames) {
  const auto ctx = demo_context();
  ErrorText error;
  for (int round = 0; round < 2; ++round) {
    for (const char* name : {"tts", "asr", "text", "dflash", "mtp", "vad", "wakeword"}) {
      EXPECT_EQ(eliza_inference_mmap_evict(ctx.get(), name, error), ELIZA_OK) << name << error.text();
      EXPECT_EQ(eliza_inference_mmap_acquire(ctx.get(), name, error), ELIZA_OK) << name << error.text();
      EXPECT_EQ(eliza_inference_mmap_acquire(ctx.get(), name, error), ELIZA_OK) << name << error.text();
      EXPECT_TRUE(error.is_null());
    }
  }
  for (const char* name : {"", "TTS", "speaker", "tts "}) {
    EXPECT_EQ(eliza_inference_mmap_acquire(ctx.get(), name, error), ELIZA_ERR_INVALID_ARG);
    EXPECT_NE(error.text().find("tts, asr, text, dflash, mtp, vad, wakeword"), std::string::npos)
        << error.text();
    EXPECT_EQ(eliza_inference_mmap_evict(ctx.get(), name, error), ELIZA_ERR_INVALID_ARG);
  }
}

TEST(CapiContext, WhatIsEvictedIsOfNoUseUntilItIsAcquired) {
  const auto ctx = demo_context();
  ErrorText error;
  float sample = 0.5f;
  char text[8];
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(eliza_inference_asr_transcribe(ctx.get(), &sample, 1, 16000, text, sizeof text, error),
              ELIZA_ERR_INVALID_ARG);
    EXPECT_NE(error.text().find("mmap_acquire"), std::string::npos) << error.text();
    EXPECT_EQ(eliza_inference_asr_transcribe(ctx.get(), nullptr, 0, 16000, text, sizeof text, error), 0);
    EXPECT_EQ(eliza_inference_tts_synthesize(ctx.get(), "hello", 5, nullptr, &sample, 1, error),
              ELIZA_ERR_INVALID_ARG);
    EXPECT_NE(error.text().find("mmap_acquire"), std::string::npos) << error.text();
    ASSERT_EQ(eliza_inference_mmap_acquire(ctx.get(), "asr", error), ELIZA_OK);
    ASSERT_EQ(eliza_inference_mmap_acquire(ctx.get(), "tts", error), ELIZA_OK);
    EXPECT_GE(eliza_inference_asr_transcribe(ctx.get(), &sample, 1, 16000, text, sizeof text, error), 0)
        << error.text();
    EXPECT_EQ(eliza_inference_mmap_evict(ctx.get(), "asr", error), ELIZA_OK);
    EXPECT_EQ(eliza_inference_mmap_evict(ctx.get(), "tts", error), ELIZA_OK);
  }
}

TEST(CapiContext, EvictingGivesMemoryBack) {
  if (!kMemoryTells) GTEST_SKIP() << "the size of this process says nothing";
  const auto ctx = demo_context({"text"});
  ErrorText error;
  eliza_inference_mmap_evict(ctx.get(), "text", error);  // so that what is loaded once is there
  const size_t before = resident_memory();
  const std::vector<int> tokens = tokens_of(ctx.get(), kQuestion);
  ASSERT_EQ(eliza_inference_llm_eot_score(ctx.get(), tokens.data(), tokens.size(), 1, nullptr, nullptr,
                                          nullptr, error),
            ELIZA_OK)
      << error.text();
  const size_t with = resident_memory();
  EXPECT_GT(with, before + (size_t{8} << 20));
  EXPECT_EQ(eliza_inference_mmap_evict(ctx.get(), "text", error), ELIZA_OK);
  EXPECT_LT(resident_memory(), before + (with - before) / 4);
}

TEST(CapiContext, HandlesAreOfOneKindAndDieWithTheirContext) {
  auto ctx = demo_context();
  ErrorText error;
  EliVad* vad = eliza_inference_vad_open(ctx.get(), 16000, error);
  ASSERT_NE(vad, nullptr) << error.text();
  EXPECT_LT(reinterpret_cast<uintptr_t>(vad), uintptr_t{1} << 53);
  const float silence[512] = {};
  float probability = -1;
  EXPECT_EQ(eliza_inference_vad_process(vad, silence, 512, &probability, error), ELIZA_OK);
  EXPECT_EQ(
      eliza_inference_vad_process(reinterpret_cast<EliVad*>(ctx.get()), silence, 512, &probability, error),
      ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(eliza_inference_mmap_acquire(reinterpret_cast<EliInferenceContext*>(vad), "tts", error),
            ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(
      eliza_inference_vad_process(reinterpret_cast<EliVad*>(&probability), silence, 512, &probability, error),
      ELIZA_ERR_INVALID_ARG)
      << "not a handle at all";
  ctx.reset();
  EXPECT_EQ(eliza_inference_vad_process(vad, silence, 512, &probability, error), ELIZA_ERR_INVALID_ARG);
  eliza_inference_vad_close(vad);
}

}  // namespace
}  // namespace parlance::test
