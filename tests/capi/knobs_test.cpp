// What environment variables say of a context: taken as the same option is inside, or refused by name.
#include <cstdlib>
#include <string>
#include <vector>

#include "assistant/regions.h"
#include "assistant/speech.h"
#include "capi/support/client.h"
#include "ov.h"
#include "support/temporary_folder.h"

namespace parlance::test {
namespace {

// Set as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(CapiKnobs, AreRefusedByName) {
  struct Case {
    const char* name;
    const char* value;
    const char* expected;
  };
  for (const Case& bad : {
           Case{"ELIZA_TTS_MASKGIT_STEPS", "0", "a number from 1 to 64"},
           Case{"ELIZA_TTS_MASKGIT_STEPS", "65", "a number from 1 to 64"},
           Case{"ELIZA_TTS_MASKGIT_STEPS", "8 ", "a number from 1 to 64"},
           Case{"ELIZA_TTS_MASKGIT_STEPS", "8.5", "a number from 1 to 64"},
           Case{"ELIZA_TTS_CHUNK_DURATION_SEC", "0", "above 0 and up to 120"},
           Case{"ELIZA_TTS_CHUNK_DURATION_SEC", "nan", "above 0 and up to 120"},
           Case{"ELIZA_TTS_CHUNK_THRESHOLD_SEC", "121", "above 0 and up to 120"},
           Case{"ELIZA_TTS_CHUNK_THRESHOLD_SEC", "-1", "above 0 and up to 120"},
           Case{"ELIZA_OMNIVOICE_MODEL", "/no/such/file.gguf", "a file that is there"},
           Case{"ELIZA_OMNIVOICE_CODEC", "/tmp", "a file that is there"},
           Case{"ELIZA_OMNIVOICE_MG_NUM_STEP", "3", "a number from 4 to 64"},
           Case{"ELIZA_OMNIVOICE_CODEC_BACKEND", "metal", "cpu or gpu"},
           Case{"ELIZA_OMNIVOICE_CODEC_BACKEND", "gpu", "ELIZA_DEVICE names none"},
           Case{"ELIZA_ASR_THREADS", "-1", "a number from 1 to 1024"},
           Case{"ELIZA_ASR_USE_GPU", "maybe", "true, yes or on"},
           Case{"ELIZA_ASR_USE_MMAP", "2", "true, yes or on"},
           Case{"ELIZA_ASR_USE_EXTRA_BUFTS", "yess", "true, yes or on"},
           Case{"ELIZA_ASR_N_CTX", "1023", "a number from 1024 to 65536"},
           Case{"ELIZA_ASR_N_CTX", "8k", "a number from 1024 to 65536"},
           Case{"ELIZA_ASR_N_BATCH", "63", "a number from 64 to 4096"},
           Case{"ELIZA_ASR_FORCE_LANGUAGE", "Klingonisch", "a language's name or code"},
           Case{"ELIZA_ASR_DEBUG", "verbose", "true, yes or on"},
           Case{"ELIZA_ASR_ANDROID_CPU_PROFILE", "phone", "true, yes or on"},
           Case{"ELIZA_DEVICE", "abacus", "cpu, cuda or vulkan"},
           Case{"ELIZA_DEVICE", "cpu:1", "cpu, cuda or vulkan"},
       }) {
    const Variable variable(bad.name, bad.value);
    ErrorText error;
    EXPECT_EQ(eliza_inference_create(demo_bundle().c_str(), error), nullptr) << bad.name;
    EXPECT_NE(error.text().find(bad.name), std::string::npos) << error.text();
    EXPECT_NE(error.text().find(bad.value), std::string::npos) << error.text();
    EXPECT_NE(error.text().find(bad.expected), std::string::npos) << error.text();
    EXPECT_EQ(error.text().find('`'), std::string::npos) << error.text();
  }
  const Variable device("ELIZA_DEVICE", "vulkan:99");
  const auto ctx = demo_context();
  ErrorText error;
  EXPECT_LT(eliza_inference_mmap_acquire(ctx.get(), "tts", error), 0);
  EXPECT_NE(error.text().find("vulkan"), std::string::npos) << error.text();
}

// What is set and empty says nothing.
TEST(CapiKnobs, EmptyOnesAreNone) {
  const Variable steps("ELIZA_TTS_MASKGIT_STEPS", ""), gpu("ELIZA_ASR_USE_GPU", ""),
      file("ELIZA_OMNIVOICE_MODEL", "");
  EXPECT_TRUE(demo_context());
}

std::string heard(EliInferenceContext* ctx, const std::vector<float>& speech) {
  char text[4096] = "";
  ErrorText error;
  EXPECT_GE(
      eliza_inference_asr_transcribe(ctx, speech.data(), speech.size(), 24000, text, sizeof text, error), 0)
      << error.text();
  return text;
}

// However the recogniser is set up, it hears the same; with a small context in pieces.
TEST(CapiKnobs, SetTheRecogniserUp) {
  const std::vector<float> speech = spoken(demo_context({"tts"}).get());
  const std::string expected = heard(demo_context({"asr"}).get(), speech);
  EXPECT_EQ(expected, kQuestion);
  struct Case {
    const char* name;
    const char* value;
  };
  for (const Case& knob :
       {Case{"ELIZA_ASR_USE_GPU", "0"}, Case{"ELIZA_ASR_USE_MMAP", "1"}, Case{"ELIZA_ASR_USE_MMAP", "off"},
        Case{"ELIZA_ASR_USE_EXTRA_BUFTS", "No"}, Case{"ELIZA_ASR_N_BATCH", "64"},
        Case{"ELIZA_ASR_N_CTX", "1024"}, Case{"ELIZA_ASR_ANDROID_CPU_PROFILE", "TRUE"}}) {
    const Variable variable(knob.name, knob.value);
    EXPECT_EQ(heard(demo_context({"asr"}).get(), speech), expected) << knob.name;
  }
  std::vector<float> twice = speech;  // more than 1,024 positions take at once
  while (twice.size() < 24000 * 30) {
    twice.insert(twice.end(), 24000, 0.0f);
    twice.insert(twice.end(), speech.begin(), speech.end());
  }
  const Variable context("ELIZA_ASR_N_CTX", "1024");
  const std::string all = heard(demo_context({"asr"}).get(), twice);
  size_t n = 0;
  for (size_t at = all.find(kQuestion); at != std::string::npos; at = all.find(kQuestion, at + 1)) ++n;
  EXPECT_GE(n, 6u) << all;
}

TEST(CapiKnobs, AGpuThatIsNotThereIsNamed) {
  const Variable gpu("ELIZA_ASR_USE_GPU", "1");
  ErrorText error;
  const OwnedContext ctx(eliza_inference_create(demo_bundle().c_str(), error));
  if (ctx) GTEST_SKIP() << "there is one";
  EXPECT_NE(error.text().find("ELIZA_ASR_USE_GPU"), std::string::npos) << error.text();
}

TEST(CapiKnobs, NameOtherFilesOfTheSpeechModel) {
  const TemporaryFolder folder;  // a bundle with nothing in it
  const std::string base = demo_bundle() + "/tts/base.gguf", codec = demo_bundle() + "/tts/codec.gguf";
  const std::vector<float> expected = spoken(demo_context({"tts"}).get(), kQuestion, nullptr);
  const Variable model("ELIZA_OMNIVOICE_MODEL", base.c_str());
  ErrorText error;
  EXPECT_EQ(eliza_inference_create(folder.path().c_str(), error), nullptr);
  EXPECT_NE(error.text().find("ELIZA_OMNIVOICE_CODEC"), std::string::npos) << error.text();
  const Variable tokenizer("ELIZA_OMNIVOICE_CODEC", codec.c_str());
  const OwnedContext ctx(eliza_inference_create(folder.path().c_str(), error));
  ASSERT_TRUE(ctx) << error.text();
  ASSERT_EQ(eliza_inference_mmap_acquire(ctx.get(), "tts", error), ELIZA_OK) << error.text();
  EXPECT_EQ(spoken(ctx.get(), kQuestion, nullptr), expected);
}

TEST(CapiKnobs, OneNumberOfStepsWins) {
  const auto speech = [] { return spoken(demo_context({"tts"}).get()); };
  const auto with = [&](const char* name, const char* value) {
    const Variable variable(name, value);
    return speech();
  };
  const std::vector<float> six = with("ELIZA_TTS_MASKGIT_STEPS", "6");
  EXPECT_EQ(with("ELIZA_OMNIVOICE_MG_NUM_STEP", "6"), six);
  EXPECT_NE(six, speech());
  const Variable other("ELIZA_OMNIVOICE_MG_NUM_STEP", "7");
  EXPECT_EQ(with("ELIZA_TTS_MASKGIT_STEPS", "6"), six);
  EXPECT_NE(speech(), six);
  const Variable codec("ELIZA_OMNIVOICE_CODEC_BACKEND", "cpu");
  EXPECT_EQ(with("ELIZA_TTS_MASKGIT_STEPS", "6"), six);
}

// A line for each transcript, without what was said.
TEST(CapiKnobs, TranscriptsAreLoggedForWhoeverWantsThat) {
  std::vector<std::string> lines;
  const auto take = [](ov_log_level, const char* text, void* user_data) {
    static_cast<std::vector<std::string>*>(user_data)->emplace_back(text);
  };
  const std::vector<float> speech = spoken(demo_context({"tts"}).get());
  for (const bool is_wanted : {true, false}) {
    const Variable debug("ELIZA_ASR_DEBUG", is_wanted ? "1" : "0");
    lines.clear();
    const auto ctx = demo_context({"asr"});
    ov_log_set(take, &lines);
    EXPECT_EQ(heard(ctx.get(), speech), kQuestion);
    ov_log_set(nullptr, nullptr);
    std::erase_if(lines,
                  [](const std::string& line) { return line.find("asr, recording") == std::string::npos; });
    ASSERT_EQ(lines.size(), is_wanted ? 1u : 0u);
    for (const std::string& line : lines) EXPECT_EQ(line.find("France"), std::string::npos) << line;
  }
}

TEST(CapiKnobs, AreWhatTheOptionsInsideAre) {
  const Variable steps("ELIZA_TTS_MASKGIT_STEPS", "6"), threads("ELIZA_ASR_THREADS", "1"),
      parts("ELIZA_TTS_CHUNK_DURATION_SEC", "1"), longest("ELIZA_TTS_CHUNK_THRESHOLD_SEC", "0.5"),
      language("ELIZA_ASR_FORCE_LANGUAGE", "en");
  const auto ctx = demo_context({"tts", "asr"});
  Choice choice;
  choice.files.folder = demo_bundle();
  Regions regions(choice);
  const Narrator narrator(*regions.tts.acquire());
  SpeechRequest request;
  request.text = kQuestion;
  request.voice = *narrator.voice({.name = "default"});
  request.decoding.n_step = 6;
  request.chunking = {.chunk_seconds = 1, .threshold_seconds = 0.5f};
  const std::vector<float> speech = spoken(ctx.get());
  EXPECT_EQ(speech, narrator.say(request)->samples);
  char text[256];
  ErrorText error;
  EXPECT_GT(eliza_inference_asr_transcribe(ctx.get(), speech.data(), speech.size(), 24000, text, sizeof text,
                                           error),
            0)
      << error.text();
  const Variable none("ELIZA_ASR_FORCE_LANGUAGE", "auto");
  EXPECT_TRUE(demo_context());
}

}  // namespace
}  // namespace parlance::test
