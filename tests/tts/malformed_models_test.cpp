// Files of the speech models with changed bytes in front of their tensors: loaded or refused in words, never
// a crash.
#include <fstream>
#include <random>

#include "kernels/cpu/cpu_device.h"
#include "models/audio_encoder.h"
#include "support/fixtures.h"
#include "tts/speech_codec.h"
#include "tts/speech_lm.h"

namespace parlance::test {
namespace {

struct Subject {
  std::string path;
  Result<void> (*load)(const GgufFile& file, Device& device);
};

// What loads is also planned for: sizes that no memory holds have to be refused before.
const Subject kSubjects[] = {
    {"asr/bundle-tiny/asr/eliza-1-asr-mmproj.gguf",
     [](const GgufFile& file, Device& device) -> Result<void> {
       PARLANCE_TRY(const auto model, AudioEncoder::load(file, device));
       return {};
     }},
    {"omnivoice/models/lm-tiny-f32.gguf",
     [](const GgufFile& file, Device& device) -> Result<void> {
       PARLANCE_TRY(const auto model, OmniVoiceLm::load(file, device));
       SpeechLm lm(*model, device);
       const std::vector<int32_t> text{1, 2, 3};
       return lm.prepare({.text = text, .reference = {}, .n_target = 4});
     }},
    {"omnivoice/models/codec-tiny-f32.gguf",
     [](const GgufFile& file, Device& device) -> Result<void> {
       PARLANCE_TRY(const auto model, OmniVoiceCodec::load(file, device));
       SpeechCodec codec(*model, device);
       const std::vector<int32_t> codes(static_cast<size_t>(codec.n_codebook()), 0);
       std::vector<float> pcm;
       PARLANCE_CHECK(codec.decode(codes, 1, 0, 1, pcm));
       return {};
     }},
};

class MalformedSpeechModels : public ::testing::TestWithParam<size_t> {};

TEST_P(MalformedSpeechModels, AreRefusedInWords) {
  const Subject& subject = kSubjects[GetParam()];
  PARLANCE_REQUIRE_FIXTURES(subject.path);
  const auto device = std::move(*make_cpu_device({.n_threads = 1}));
  const std::string whole = read_text(fixtures_root() / subject.path);
  const auto as_bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const auto file = GgufFile::parse(as_bytes(whole), "whole");
  ASSERT_TRUE(file) << file.error().message;
  const auto loaded = subject.load(*file, *device);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto n_head = static_cast<size_t>(file->data().data() - file->bytes().data());

  std::mt19937 random(static_cast<unsigned>(GetParam()) + 1);
  int n_refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string changed = whole;
    const size_t at = random() % n_head;
    changed[at] = static_cast<char>(round % 3 == 0 ? changed[at] ^ (1 << random() % 8) : random() % 256);
    if (round % 50 == 0) changed.resize(random() % changed.size());
    const auto parsed = GgufFile::parse(as_bytes(changed), "changed");
    const Result<void> result =
        parsed ? subject.load(*parsed, *device) : tl::unexpected<Error>(parsed.error());
    if (result) continue;
    ++n_refused;
    const std::string& message = result.error().message;
    EXPECT_FALSE(message.empty());
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_GT(n_refused, 300);
}

INSTANTIATE_TEST_SUITE_P(Files, MalformedSpeechModels, ::testing::Range(size_t{0}, std::size(kSubjects)));

}  // namespace
}  // namespace parlance::test
