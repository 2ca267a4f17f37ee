// What environment variables say of a context: taken as the same option is inside, or refused by name.
#include <cstdlib>

#include "assistant/regions.h"
#include "assistant/speech.h"
#include "capi/support/client.h"

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
  };
  for (const Case& bad :
       {Case{"ELIZA_TTS_MASKGIT_STEPS", "0"}, Case{"ELIZA_TTS_MASKGIT_STEPS", "65"},
        Case{"ELIZA_TTS_MASKGIT_STEPS", "8 "}, Case{"ELIZA_TTS_CHUNK_DURATION_SEC", "0"},
        Case{"ELIZA_TTS_CHUNK_DURATION_SEC", "nan"}, Case{"ELIZA_TTS_CHUNK_THRESHOLD_SEC", "121"},
        Case{"ELIZA_ASR_THREADS", "-1"}, Case{"ELIZA_ASR_FORCE_LANGUAGE", "Klingonisch"}}) {
    const Variable variable(bad.name, bad.value);
    ErrorText error;
    EXPECT_EQ(eliza_inference_create(demo_bundle().c_str(), error), nullptr) << bad.name;
    EXPECT_NE(error.text().find(bad.name), std::string::npos) << error.text();
  }
  const Variable device("ELIZA_DEVICE", "abacus");
  const auto ctx = demo_context();
  ErrorText error;
  EXPECT_EQ(eliza_inference_mmap_acquire(ctx.get(), "tts", error), ELIZA_ERR_BUNDLE_INVALID);
  EXPECT_NE(error.text().find("abacus"), std::string::npos) << error.text();
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
