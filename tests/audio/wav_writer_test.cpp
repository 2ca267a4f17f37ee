#include "audio/wav_writer.h"

#include <limits>

#include "audio/audio_file.h"
#include "audio/support/recordings.h"
#include "gtest/gtest.h"

namespace parlance {
namespace {

std::vector<int> written(const std::vector<float>& samples) {
  std::vector<std::byte> bytes;
  append_s16(samples, bytes);
  std::vector<int> values;
  for (size_t i = 0; i < bytes.size(); i += 2)
    values.push_back(static_cast<int16_t>(static_cast<int>(bytes[i]) | static_cast<int>(bytes[i + 1]) << 8));
  return values;
}

TEST(WavWriter, RoundsAndClips) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(written({0, 0.5f, -1, 1, 7, -7, 1.4f / 32768, 1.6f / 32768, -1.6f / 32768}),
            (std::vector<int>{0, 16384, -32768, 32767, 32767, -32768, 1, 2, -2}));
  EXPECT_EQ(written({kInfinity, -kInfinity, kInfinity - kInfinity}), (std::vector<int>{32767, -32768, 0}));
}

TEST(WavWriter, FilesAreReadBackExactly) {
  const test::TemporaryFolder folder;
  std::vector<float> samples;
  for (int i = 0; i < 70000; ++i) samples.push_back(static_cast<float>(i * 37 % 65536 - 32768) / 32768);
  for (const int n_channels : {1, 2}) {
    const std::filesystem::path path = folder / "a.wav";
    ASSERT_TRUE(write_wav(path, samples, {.sample_rate_hz = 24000, .n_channels = n_channels}));
    auto file = AudioFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->sample_rate_hz(), 24000);
    EXPECT_EQ(file->n_channels(), n_channels);
    std::vector<float> got(samples.size());
    EXPECT_EQ(*file->read(got), static_cast<int64_t>(samples.size()) / n_channels);
    if (n_channels == 1) {
      EXPECT_EQ(got, samples);
    }
  }
}

TEST(WavWriter, AFolderThatIsAbsentIsNamed) {
  const test::TemporaryFolder folder;
  const auto result = write_wav(folder / "absent/a.wav", {}, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("absent"), std::string::npos);
}

TEST(WavWriter, AStreamOfUnknownLengthIsReadToItsEnd) {
  std::vector<std::byte> bytes = wav_header({.sample_rate_hz = 16000}, std::nullopt);
  EXPECT_EQ(bytes.size(), 44u);
  append_s16(std::vector{0.5f, 0.25f}, bytes);
  const auto clip = read_audio(bytes, "pipe", 16000);
  ASSERT_TRUE(clip) << clip.error().message;
  EXPECT_EQ(clip->samples, (std::vector{0.5f, 0.25f}));
}

}  // namespace
}  // namespace parlance
