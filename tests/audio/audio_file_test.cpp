#include "audio/audio_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audio/support/recordings.h"
#include "audio/wav_writer.h"
#include "base/os/file.h"
#include "gtest/gtest.h"

namespace parlance {
namespace {

using test::ByteWriter;
using test::encode;
using test::sine;
using test::TemporaryFolder;

constexpr int kRateHz = 16000;

Result<AudioClip> read(const std::vector<std::byte>& bytes, const AudioLimits& limits = {}) {
  return read_audio(bytes, "input", kRateHz, limits);
}

std::string error_of(const std::vector<std::byte>& bytes, const AudioLimits& limits = {}) {
  const auto clip = read(bytes, limits);
  if (clip) return "no error";
  EXPECT_NE(clip.error().message.find("input"), std::string::npos) << clip.error().message;
  EXPECT_EQ(clip.error().message.find('\n'), std::string::npos);
  return clip.error().message;
}

struct FormatCase {
  const char* name;
  int format;
  float tolerance;
};

class AudioFormat : public ::testing::TestWithParam<FormatCase> {};

TEST_P(AudioFormat, ARecordingIsReadBack) {
  const std::vector<float> samples = sine(440, kRateHz, 16000);
  const std::vector<std::byte> bytes = encode(GetParam().format, samples, 1, kRateHz);
  if (bytes.empty()) GTEST_SKIP() << "the library was built without " << GetParam().name;
  const auto clip = read(bytes);
  ASSERT_TRUE(clip) << clip.error().message;
  // MP3 is read with the silence that its encoder puts around the sound.
  ASSERT_GE(clip->samples.size(), samples.size());
  ASSERT_LE(clip->samples.size(), samples.size() + 2500);
  const size_t delay = clip->samples.size() == samples.size() ? 0 : [&] {
    double best = -1;
    size_t at = 0;
    for (size_t shift = 0; shift + samples.size() <= clip->samples.size(); ++shift) {
      double sum = 0;
      for (size_t i = 4000; i < 8000; ++i) sum += static_cast<double>(samples[i] * clip->samples[i + shift]);
      if (sum > best) best = sum, at = shift;
    }
    return at;
  }();
  for (size_t i = 1000; i < samples.size() - 1000; ++i)
    ASSERT_NEAR(clip->samples[i + delay], samples[i], GetParam().tolerance) << i;
}

INSTANTIATE_TEST_SUITE_P(
    Formats, AudioFormat,
    ::testing::Values(FormatCase{"wav_u8", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 1.1f / 128},
                      FormatCase{"wav_s16", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1.1f / 32768},
                      FormatCase{"wav_s24", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 2e-7f},
                      FormatCase{"wav_s32", SF_FORMAT_WAV | SF_FORMAT_PCM_32, 1e-7f},
                      FormatCase{"wav_f32", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0},
                      FormatCase{"wav_f64", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 0},
                      FormatCase{"wav_mu_law", SF_FORMAT_WAV | SF_FORMAT_ULAW, 0.02f},
                      FormatCase{"wavex_s16", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 1.1f / 32768},
                      FormatCase{"rf64_s16", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 1.1f / 32768},
                      FormatCase{"aiff_s16", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 1.1f / 32768},
                      FormatCase{"flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 1.1f / 32768},
                      FormatCase{"vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 0.05f},
                      FormatCase{"opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 0.1f},
                      FormatCase{"mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 0.05f}),
    [](const auto& param) { return param.param.name; });

TEST(AudioFile, SixteenBitsAreExact) {
  std::vector<float> samples;
  for (int value = -32768; value < 32768; ++value) samples.push_back(static_cast<float>(value) / 32768);
  const auto clip = read(encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, samples, 1, kRateHz));
  ASSERT_TRUE(clip);
  EXPECT_EQ(clip->samples, samples);
}

TEST(AudioFile, ChannelsAreMixedAndRatesChanged) {
  const std::vector<float> left = sine(440, 48000, 48000);
  std::vector<float> stereo;
  for (const float sample : left) stereo.insert(stereo.end(), {sample, 0.5f * sample});
  const auto clip = read(encode(SF_FORMAT_WAV | SF_FORMAT_FLOAT, stereo, 2, 48000));
  ASSERT_TRUE(clip) << clip.error().message;
  const std::vector<float> want = sine(440, kRateHz, 16000);
  ASSERT_EQ(clip->samples.size(), want.size());
  for (size_t i = 1000; i < 15000; ++i) ASSERT_NEAR(clip->samples[i], 0.75f * want[i], 1e-4) << i;
}

TEST(AudioFile, WhatIsTooLoudIsDividedByItsPeak) {
  std::vector<float> samples{0.5f, -4, 2};
  auto clip = read(encode(SF_FORMAT_WAV | SF_FORMAT_FLOAT, samples, 1, kRateHz));
  ASSERT_TRUE(clip);
  EXPECT_EQ(clip->samples, (std::vector<float>{0.125f, -1, 0.5f}));
  samples = {0.5f, -1, 0.25f};
  clip = read(encode(SF_FORMAT_WAV | SF_FORMAT_FLOAT, samples, 1, kRateHz));
  ASSERT_TRUE(clip);
  EXPECT_EQ(clip->samples, samples);
}

TEST(AudioFile, PiecesOfAnySizeMakeTheSameRecording) {
  const std::vector<float> samples = sine(440, kRateHz, 20000);
  const std::vector<std::byte> bytes = encode(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, samples, 1, kRateHz);
  if (bytes.empty()) GTEST_SKIP() << "the library was built without FLAC";
  const auto want = read(bytes);
  ASSERT_TRUE(want);
  for (const size_t size : {1, 160, 5000, 30000}) {
    auto file = AudioFile::open(bytes, "input");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->sample_rate_hz(), kRateHz);
    EXPECT_EQ(file->n_channels(), 1);
    std::vector<float> got, piece(size);
    for (;;) {
      const auto n = file->read(piece);
      ASSERT_TRUE(n) << n.error().message;
      got.insert(got.end(), piece.begin(), piece.begin() + *n);
      if (*n < static_cast<int64_t>(size)) break;
    }
    EXPECT_EQ(got, want->samples);
    EXPECT_EQ(*file->read(piece), 0);
  }
}

TEST(AudioFile, OneSampleAndNone) {
  const auto none = read(encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, {}, 1, kRateHz));
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->samples.empty());
  const auto one = read(encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, std::vector{0.5f}, 1, kRateHz));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->samples, std::vector{0.5f});
}

TEST(AudioFile, LengthsInTheHeaderAreNotBelieved) {
  for (const uint64_t claimed : {uint64_t{0xffffffff}, uint64_t{0x7ffffff0}, uint64_t{1000}}) {
    ByteWriter wav;
    wav.riff("RIFF", claimed).format_chunk(1, 1, kRateHz, 16).text("data").number(claimed, 4);
    for (int i = 0; i < 100; ++i) wav.number(0x4000, 2);
    const auto clip = read(wav.bytes);
    ASSERT_TRUE(clip) << clip.error().message;
    EXPECT_EQ(clip->samples, std::vector<float>(100, 0.5f));
  }
}

TEST(AudioFile, TruncatedRecordingsEndEarlyOrAreRefused) {
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                           SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III}) {
    const std::vector<std::byte> bytes = encode(format, sine(440, kRateHz, 8000), 1, kRateHz);
    // Of shorter ones the decoder of MP3 writes to the terminal, and that of Vorbis forgets memory.
    const int type = format & SF_FORMAT_TYPEMASK;
    const bool is_long = type == SF_FORMAT_MPEG || type == SF_FORMAT_OGG;
    for (size_t n = is_long ? bytes.size() * 9 / 10 : 1; n < bytes.size(); n += n < 60 ? 1 : 97) {
      const auto clip = read({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n)});
      if (clip) {
        EXPECT_LE(clip->samples.size(), 12000u);
      } else {
        EXPECT_TRUE(clip.error().message.starts_with("input ")) << clip.error().message;
      }
    }
  }
}

TEST(AudioFile, SamplesThatAreNoNumbersAreNamedByTheirTime) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f, -2e10f}) {
    ByteWriter wav;
    wav.riff().format_chunk(3, 1, kRateHz, 32).text("data").number(4 * 10000, 4);
    for (int i = 0; i < 10000; ++i) wav.f32(i == 8000 ? bad : 0.25f);
    EXPECT_EQ(
        error_of(wav.bytes),
        "input has a sample that is no number, or far too large, at 0.500 s; record or export it again");
  }
}

TEST(AudioFile, LimitsAreKept) {
  const std::vector<std::byte> bytes =
      encode(SF_FORMAT_WAV | SF_FORMAT_PCM_16, sine(440, kRateHz, 32000), 1, kRateHz);
  EXPECT_TRUE(read(bytes, {.max_seconds = 2}));
  EXPECT_EQ(error_of(bytes, {.max_seconds = 1}), "input is longer than the limit of 1 s; cut it into parts");
  EXPECT_EQ(error_of(bytes, {.max_bytes = 64000}),
            "input has " + std::to_string(bytes.size()) +
                " bytes, more than the limit of 64000; cut it into parts");
}

TEST(AudioFile, WhatIsNoRecordingIsRefused) {
  const auto bytes_of = [](std::string_view text) { return ByteWriter().text(text).bytes; };
  EXPECT_EQ(error_of({}), "input is empty; expected a recording");
  for (const char* text :
       {"R", "RIFF", "RIFF....AVI LIST", "<html><body>404</body></html>", ".snd............"})
    EXPECT_NE(error_of(bytes_of(text)).find("is not WAV, FLAC, Ogg, WebM, MP3 or AIFF; convert it"),
              std::string::npos);
  for (const char* text : {"RIFF....WAVE", "fLaC", "OggS", "ID3", "FORM....AIFF", "\xff\xfb\x90"})
    EXPECT_NE(error_of(bytes_of(text)).find("convert it to WAV, for example with: ffmpeg"),
              std::string::npos);
  ByteWriter crowd;
  crowd.riff().format_chunk(1, 65, kRateHz, 16).text("data").number(130, 4).bytes.resize(44 + 130);
  EXPECT_NE(error_of(crowd.bytes).find("65 channels; use 1 to 64"), std::string::npos);
  ByteWriter slow;
  slow.riff().format_chunk(1, 1, 999, 16).text("data").number(2, 4).number(0, 2);
  EXPECT_NE(error_of(slow.bytes).find("between 1000 and 768000 Hz"), std::string::npos);
}

TEST(AudioFile, PathsAreReadAndNamed) {
  const TemporaryFolder folder;
  const std::vector<float> samples = sine(440, kRateHz, 1000);
  ASSERT_TRUE(write_wav(folder / "a.wav", samples, {.sample_rate_hz = kRateHz}));
  const auto clip = read_audio(folder / "a.wav", kRateHz);
  ASSERT_TRUE(clip) << clip.error().message;
  ASSERT_EQ(clip->samples.size(), samples.size());
  for (size_t i = 0; i < samples.size(); ++i) ASSERT_NEAR(clip->samples[i], samples[i], 0.6f / 32768);

  const auto missing = read_audio(folder / "b.wav", kRateHz);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("b.wav"), std::string::npos);
  EXPECT_FALSE(read_audio(folder.path(), kRateHz));
}

}  // namespace
}  // namespace parlance
