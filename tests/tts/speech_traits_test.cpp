#include "tts/speech_traits.h"

#include "support/gguf_copy.h"
#include "tts/support/tiny_tts.h"
#include "tts/synthesizer.h"

namespace parlance::test {
namespace {

namespace fs = std::filesystem;

class SpeechTraitsTest : public ::testing::Test {
 protected:
  void SetUp() override { PARLANCE_REQUIRE_FIXTURES("omnivoice/models"); }

  template <typename Change>
  Result<std::unique_ptr<TtsModel>> load_with(Change change) {
    const fs::path file = folder_ / "model.gguf";
    PARLANCE_CHECK(copy_gguf(tts_fixtures() / "models/lm-tiny-f32.gguf", file, change));
    return TtsModel::load({.base = file, .codec = tts_fixtures() / "models/codec-tiny-f32.gguf"}, *device_,
                          {.huge_pages = false});
  }

  static std::vector<SpokenChunk> speak(const TtsModel& model, const std::string& text) {
    Synthesizer synthesizer(model);
    SpeechRequest request;
    request.text = text;
    request.decoding.n_step = 1;
    const auto speech = synthesizer.synthesize(request);
    EXPECT_TRUE(speech) << speech.error().message;
    return speech ? speech->report.chunks : std::vector<SpokenChunk>();
  }

  const TemporaryFolder folder_;
  const std::unique_ptr<Device> device_ = std::move(*make_cpu_device({.n_threads = 2}));
};

constexpr const char* kThreeSentences =
    "The first sentence is here to be spoken. The second one follows it after a while. "
    "And then the third one ends it all.";

TEST_F(SpeechTraitsTest, AFileWithoutThemHasNone) {
  const auto model = load_with([](GgufWriter&) {});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_FALSE((*model)->traits().longest_seconds);
  EXPECT_FALSE((*model)->traits().has_own_voices);
  EXPECT_EQ(speak(**model, kThreeSentences).size(), 1u);
}

TEST_F(SpeechTraitsTest, LongTextsAreSpokenInPartsThatTheModelLearnt) {
  const auto model = load_with([](GgufWriter& writer) { writer.set_u32("parlance.max_seconds", 4); });
  ASSERT_TRUE(model) << model.error().message;
  const auto chunks = speak(**model, kThreeSentences);
  ASSERT_EQ(chunks.size(), 3u);
  for (const SpokenChunk& chunk : chunks) EXPECT_LE(chunk.codes.n_frames(), 4 * kFramesPerSecond);
  EXPECT_EQ(chunks[0].n_reference, 0);
  EXPECT_EQ(chunks[1].n_reference, chunks[0].codes.n_frames());
}

TEST_F(SpeechTraitsTest, OwnVoicesNeedNoFirstPartToFollow) {
  const auto model = load_with([](GgufWriter& writer) {
    writer.set_u32("parlance.max_seconds", 4);
    writer.set_bool("parlance.own_voices", true);
  });
  ASSERT_TRUE(model) << model.error().message;
  for (const SpokenChunk& chunk : speak(**model, kThreeSentences)) EXPECT_EQ(chunk.n_reference, 0);
}

TEST_F(SpeechTraitsTest, WrongOnesAreNamed) {
  const auto no_time = load_with([](GgufWriter& writer) { writer.set_u32("parlance.max_seconds", 0); });
  const auto no_answer = load_with([](GgufWriter& writer) { writer.set_u32("parlance.own_voices", 7); });
  ASSERT_FALSE(no_time || no_answer);
  EXPECT_NE(no_time.error().message.find("parlance.max_seconds"), std::string::npos);
  EXPECT_NE(no_answer.error().message.find("parlance.own_voices"), std::string::npos);
}

}  // namespace
}  // namespace parlance::test
