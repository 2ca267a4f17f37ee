#include "tts/text/text_form.h"

#include <array>

#include "support/gguf_copy.h"
#include "tts/support/tiny_tts.h"

namespace parlance::test {
namespace {

namespace fs = std::filesystem;

Result<void> copy_with_form(const fs::path& from, const fs::path& to, std::string_view form) {
  return copy_gguf(from, to, [&](GgufWriter& writer) { writer.set_string("parlance.text_form", form); });
}

TEST(TextForm, SpokenEnglishIsWords) {
  const std::string text = "[sigh] 23 + 5 = 28[laughter], Dr. Smith!";
  EXPECT_EQ(in_form(TextForm::as_written, text), text);
  EXPECT_EQ(in_form(TextForm::spoken_english, text),
            "twenty three plus five equals twenty eight, Doctor Smith!");
  EXPECT_EQ(in_form(TextForm::spoken_english, "\u6f22\u5b57 [sigh] ..."), "");
}

class TextFormOfModelTest : public ::testing::Test {
 protected:
  void SetUp() override { PARLANCE_REQUIRE_FIXTURES("omnivoice/models"); }

  static fs::path base() { return tts_fixtures() / "models/lm-tiny-f32.gguf"; }
  static fs::path codec() { return tts_fixtures() / "models/codec-tiny-f32.gguf"; }
  Result<std::unique_ptr<TtsModel>> load(const fs::path& file) {
    return TtsModel::load({.base = file, .codec = codec()}, *device_, {.huge_pages = false});
  }

  const TemporaryFolder folder_;
  const std::unique_ptr<Device> device_ = std::move(*make_cpu_device({.n_threads = 2}));
};

TEST_F(TextFormOfModelTest, IsReadFromItsFile) {
  const auto plain = load(base());
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ((*plain)->traits().text_form, TextForm::as_written);
  ASSERT_TRUE(copy_with_form(base(), folder_ / "other.gguf", "phonemes"));
  const auto other = load(folder_ / "other.gguf");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::unsupported);
  for (const char* word : {"other.gguf", "parlance.text_form", "phonemes", "spoken-english"})
    EXPECT_NE(other.error().message.find(word), std::string::npos) << other.error().message;
}

// Numbers are given to the model as the words that are said, in as many frames as those of the written text.
TEST_F(TextFormOfModelTest, IsWhatTheModelIsGiven) {
  ASSERT_TRUE(copy_with_form(base(), folder_ / "words.gguf", "spoken-english"));
  const auto as_written = load(base()), in_words = load(folder_ / "words.gguf");
  ASSERT_TRUE(as_written && in_words);
  EXPECT_EQ((*in_words)->traits().text_form, TextForm::spoken_english);
  Synthesizer plain(**as_written), spoken(**in_words);

  SpeechRequest request;
  request.decoding.n_step = 2;
  request.seconds = 1;
  const auto codes = [&](Synthesizer& synthesizer, const std::string& text,
                         const std::string& reference_text) {
    request.text = text;
    request.voice.reference_text = reference_text;
    const auto speech = synthesizer.synthesize(request);
    EXPECT_TRUE(speech) << speech.error().message;
    return speech ? speech->report.chunks.at(0).codes : AudioCodes();
  };
  const std::string words = "It is three forty P M.";
  EXPECT_EQ(codes(spoken, "It is 3:40 pm.", ""), codes(plain, words, ""));
  EXPECT_EQ(codes(spoken, words, ""), codes(plain, words, ""));
  EXPECT_NE(codes(plain, "It is 3:40 pm.", ""), codes(plain, words, ""));

  const AudioCodes reference = codes(plain, words, "");
  request.voice.reference = reference;
  EXPECT_EQ(codes(spoken, "5 + 5", "I have 7."), codes(plain, "five plus five", "I have seven."));

  request.voice = {};
  request.seconds = 0;
  request.text = "\u6f22\u5b57.";
  const auto nothing = spoken.synthesize(request);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(nothing.error().message.find("nothing to say"), std::string::npos) << nothing.error().message;

  request.text = "5 + 5 makes 10, I think.";
  const auto written = spoken.synthesize(request), same = plain.synthesize(request);
  ASSERT_TRUE(written && same);
  EXPECT_EQ(written->report.chunks.at(0).text, request.text);
  EXPECT_EQ(written->report.chunks.at(0).codes.n_frames(), same->report.chunks.at(0).codes.n_frames());
}

}  // namespace
}  // namespace parlance::test
