#include "tts/audio/speech_wav.h"

#include "audio/audio_file.h"
#include "tts/audio/support/recorded_waves.h"

namespace parlance {
namespace {

TEST(SpeechWav, RecordedFiles) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/post");
  const std::vector<float> samples = test::recorded_floats("post/wav_in");
  const std::vector<std::pair<WavEncoding, std::string>> files{
      {WavEncoding::s16, "wav16"}, {WavEncoding::s24, "wav24"}, {WavEncoding::f32, "wav32"}};
  for (const auto& [encoding, name] : files) {
    std::vector<std::byte> bytes = speech_wav_header(encoding, static_cast<int64_t>(samples.size()));
    append_speech(samples, encoding, bytes);
    const std::string expected =
        test::read_text(test::fixtures_root() / ("omnivoice/post/wav_out_" + name + ".wav"));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected) << name;
  }
}

TEST(SpeechWav, StreamsOfEveryEncodingAreReadToTheirEnd) {
  for (const WavEncoding encoding : {WavEncoding::s16, WavEncoding::s24, WavEncoding::f32}) {
    std::vector<std::byte> bytes = speech_wav_header(encoding, std::nullopt);
    EXPECT_EQ(bytes.size(), 44u);
    for (const size_t size_at :
         {4, 40}) {  // the sizes of all and of the samples: the largest that is positive
      EXPECT_EQ(bytes[size_at], std::byte{0xff});
      EXPECT_EQ(bytes[size_at + 3], std::byte{0x7f});
    }
    append_speech(std::vector{0.5f, -0.25f, 0.0f}, encoding, bytes);
    const auto clip = read_audio(bytes, "stream", 24000);
    ASSERT_TRUE(clip) << clip.error().message;
    ASSERT_EQ(clip->samples.size(), 3u);
    EXPECT_NEAR(clip->samples[0], 0.5f, 1e-4f);
    EXPECT_NEAR(clip->samples[1], -0.25f, 1e-4f);
  }
}

}  // namespace
}  // namespace parlance
