#include "audio/pcm_stream.h"

#include <algorithm>
#include <limits>
#include <random>

#include "audio/support/recordings.h"
#include "audio/wav_writer.h"
#include "gtest/gtest.h"

namespace parlance {
namespace {

using test::ByteWriter;
using test::encode;
using test::sine;

// In pieces of up to `most` bytes.
Result<std::vector<float>> samples_of(PcmStream stream, std::span<const std::byte> bytes,
                                      size_t most = 4096) {
  std::vector<float> samples;
  std::mt19937 random(static_cast<unsigned>(most));
  std::uniform_int_distribution<size_t> length(most == 1 ? 1 : 0, most);
  while (!bytes.empty()) {
    const size_t n = std::min(length(random), bytes.size());
    PARLANCE_CHECK(stream.push(bytes.first(n), samples));
    bytes = bytes.subspan(n);
  }
  PARLANCE_CHECK(stream.finish());
  return samples;
}

Result<std::vector<float>> wav_of(std::span<const std::byte> bytes, size_t most = 4096) {
  return samples_of(PcmStream::wav("input"), bytes, most);
}

std::string refusal_of(const ByteWriter& wav) {
  const auto samples = wav_of(wav.bytes);
  return samples ? "no error" : samples.error().message;
}

ByteWriter& halves(ByteWriter& wav, int n) {
  for (int i = 0; i < n; ++i) wav.number(0x4000, 2);
  return wav;
}

TEST(PcmStream, RawSamples) {
  const auto s16 = PcmStream::raw("input", {});
  ASSERT_TRUE(s16);
  EXPECT_TRUE(s16->has_format());
  ByteWriter bytes;
  bytes.number(0, 2).number(0x4000, 2).number(0x8000, 2).number(0x7fff, 2).number(1, 1);
  EXPECT_EQ(*samples_of(*s16, bytes.bytes), (std::vector{0.0f, 0.5f, -1.0f, 32767.0f / 32768}));

  const auto stereo = PcmStream::raw("input", {.encoding = PcmEncoding::f32, .n_channels = 2});
  ASSERT_TRUE(stereo);
  ByteWriter floats;
  floats.f32(0.5f).f32(0.25f).f32(-3).f32(1);
  EXPECT_EQ(*samples_of(*stereo, floats.bytes, 1), (std::vector{0.375f, -1.0f}));

  EXPECT_EQ(PcmStream::raw("input", {.sample_rate_hz = 10}).error().message,
            "input has a sample rate of 10 Hz; use one between 1000 and 768000 Hz");
  EXPECT_EQ(PcmStream::raw("input", {.n_channels = 65}).error().message,
            "input has 65 channels; use 1 to 64");
}

TEST(PcmStream, EveryWavEncodingInPiecesOfEverySize) {
  const std::vector<float> stereo = sine(440, 16000, 2000);
  for (const int format :
       {SF_FORMAT_WAV | SF_FORMAT_PCM_U8, SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_PCM_24,
        SF_FORMAT_WAV | SF_FORMAT_PCM_32, SF_FORMAT_WAV | SF_FORMAT_FLOAT, SF_FORMAT_WAVEX | SF_FORMAT_PCM_16,
        SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, SF_FORMAT_WAVEX | SF_FORMAT_FLOAT,
        SF_FORMAT_RF64 | SF_FORMAT_PCM_16}) {
    const std::vector<std::byte> bytes = encode(format, stereo, 2, 44100);
    ASSERT_FALSE(bytes.empty());
    const auto whole = wav_of(bytes, bytes.size());
    ASSERT_TRUE(whole) << whole.error().message;
    ASSERT_EQ(whole->size(), 1000u);
    const float tolerance = (format & SF_FORMAT_SUBMASK) == SF_FORMAT_PCM_U8 ? 0.02f : 1e-4f;
    for (size_t i = 0; i < 1000; ++i)
      ASSERT_NEAR((*whole)[i], (stereo[2 * i] + stereo[2 * i + 1]) / 2, tolerance);
    for (const size_t most : {1, 2, 3, 7, 50, 1000}) EXPECT_EQ(*wav_of(bytes, most), *whole);
  }
}

TEST(PcmStream, SizesOfStreamsGoOnUntilTheEnd) {
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{0xffffffff}, uint64_t{0x7fffffff}, uint64_t{0x80000000}, uint64_t{99999}}) {
    ByteWriter wav;
    wav.riff("RIFF", size).format_chunk(1, 1, 8000, 16).text("data").number(size, 4);
    EXPECT_EQ(*wav_of(halves(wav, 5).bytes), std::vector<float>(5, 0.5f)) << size;
  }
  std::vector<std::byte> bytes = wav_header({.sample_rate_hz = 24000}, std::nullopt);
  append_s16(std::vector{0.5f, -0.5f}, bytes);
  EXPECT_EQ(*wav_of(bytes), (std::vector{0.5f, -0.5f}));
}

TEST(PcmStream, OtherChunksAreNoSound) {
  ByteWriter wav;
  wav.riff().text("LIST").number(3, 4).text("abc").number(0, 1);  // of an odd size, so with a byte after it
  wav.format_chunk(1, 1, 8000, 16).text("bext").number(0, 4).text("data").number(4, 4);
  halves(wav, 2).text("LIST").number(100, 4).text("what follows");
  for (const size_t most : {1, 5, 200}) EXPECT_EQ(*wav_of(wav.bytes, most), std::vector<float>(2, 0.5f));

  ByteWriter longer;
  longer.riff("RF64").text("ds64").number(28, 4).number(0, 8).number(6, 8).number(3, 8).number(0, 4);
  longer.format_chunk(1, 1, 8000, 16).text("data").number(0xffffffff, 4);
  EXPECT_EQ(*wav_of(halves(longer, 8).bytes), std::vector<float>(3, 0.5f));
}

TEST(PcmStream, NoSamplesAreNoError) {
  for (const uint64_t size : {0, 1}) {
    ByteWriter wav;
    wav.riff().format_chunk(1, 1, 8000, 16).text("data").number(size, 4);
    EXPECT_TRUE(wav_of(wav.bytes)->empty());
  }
}

TEST(PcmStream, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal_of({}), "input ended before its samples began; send a whole WAV header");
  EXPECT_EQ(refusal_of(ByteWriter().riff().format_chunk(1, 1, 8000, 16)),
            "input ended before its samples began; send a whole WAV header");
  EXPECT_EQ(refusal_of(ByteWriter().text("OggS........")),
            "input does not begin as a WAV file does; send WAV, or say that it is raw");
  EXPECT_EQ(refusal_of(ByteWriter().riff().text("data").number(4, 4)),
            "input has samples before their description; write the file again");
  EXPECT_EQ(refusal_of(ByteWriter().riff().text("fmt ").number(2, 4)),
            "input describes its samples with 2 bytes, expected at least 16; send WAV");
  EXPECT_EQ(
      refusal_of(ByteWriter().riff().format_chunk(6, 1, 8000, 8)),
      "input has samples of format 6 with 8 bits in 1 bytes; send 8, 16, 24 or 32-bit PCM or 32-bit float");
  EXPECT_NE(refusal_of(ByteWriter().riff().format_chunk(1, 0, 8000, 16)).find("0 channels"), std::string::npos);
  EXPECT_NE(refusal_of(ByteWriter().riff().format_chunk(1, 1, 0, 16)).find("0 Hz"), std::string::npos);
  EXPECT_EQ(refusal_of(ByteWriter().riff().text("JUNK").number(0xffffffff, 4)),
            "input has more than 16 MiB before its samples; send it without pictures and titles");
  ByteWriter bad;
  bad.riff().format_chunk(3, 1, 8000, 32).text("data").number(0, 4);
  for (int i = 0; i < 4000; ++i) bad.f32(0);
  bad.f32(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(refusal_of(bad),
            "input has a sample that is no number, or far too large, at 0.500 s; check what sends it");
}

}  // namespace
}  // namespace parlance
