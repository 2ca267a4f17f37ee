#include "tts/files/rvq_file.h"

#include <random>

#include "support/fixtures.h"
#include "support/npy.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

AudioCodes random_codes(int64_t n_codebook, int64_t n_frames) {
  std::mt19937 random(static_cast<uint32_t>(n_codebook * 100 + n_frames));
  AudioCodes codes{.n_codebook = n_codebook, .codes = {}};
  for (int64_t i = 0; i < n_codebook * n_frames; ++i)
    codes.codes.push_back(static_cast<int32_t>(random() % 1025));
  return codes;
}

TEST(RvqFile, RecordedCodes) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/codec_full");
  const auto files = test::fixture_files("omnivoice/codec_full", ".rvq");
  ASSERT_FALSE(files.empty()) << "omnivoice/codec_full has no .rvq files";
  for (const std::filesystem::path& file : files) {
    SCOPED_TRACE(file);
    const std::string bytes = test::read_text(file);
    const auto recorded = test::read_npy(std::filesystem::path(file).replace_extension(".codes.npy"));
    ASSERT_EQ(recorded.shape.size(), 2u);
    const auto codes = read_rvq(file, recorded.shape[0]);
    ASSERT_TRUE(codes) << codes.error().message;
    EXPECT_EQ(codes->n_frames(), recorded.shape[1]);
    EXPECT_EQ(codes->codes, std::vector<int32_t>(recorded.values.begin(), recorded.values.end()));
    EXPECT_EQ(rvq_bytes(*codes), bytes_of(bytes));
  }
}

TEST(RvqFile, WhatIsWrittenIsReadBack) {
  const test::TemporaryFolder folder;
  for (const int64_t n_codebook : {1, 3, 8}) {
    for (const int64_t n_frames : {1, 2, 5, 8, 100}) {
      const AudioCodes codes = random_codes(n_codebook, n_frames);
      ASSERT_TRUE(write_rvq(folder / "a.rvq", codes));
      const auto read = read_rvq(folder / "a.rvq", n_codebook);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(*read, codes);
    }
  }
}

TEST(RvqFile, EveryLengthThatIsNotWholeFramesIsRefused) {
  const std::vector<std::byte> bytes = rvq_bytes(random_codes(8, 3));
  ASSERT_EQ(bytes.size(), 33u);
  for (size_t n = 0; n <= bytes.size(); ++n) {
    const auto codes = parse_rvq(std::span(bytes).first(n), "cut.rvq", 8);
    EXPECT_EQ(codes.has_value(), n > 0 && n % 11 == 0) << n;
    if (!codes) {
      EXPECT_NE(codes.error().message.find("cut.rvq"), std::string::npos);
    }
  }
  // Bits that no code has.
  std::vector<std::byte> one = rvq_bytes(random_codes(1, 1));
  ASSERT_EQ(one.size(), 2u);
  EXPECT_TRUE(parse_rvq(one, "a", 1));
  one[1] |= std::byte{0x80};
  EXPECT_FALSE(parse_rvq(one, "a", 1));
}

TEST(AudioCodes, CodesAreCheckedAgainstTheCodec) {
  const AudioCodes codes{.n_codebook = 2, .codes = {0, 63, 5, 64}};
  EXPECT_TRUE(check_codes(codes, 2, 65, "a"));
  EXPECT_FALSE(check_codes(codes, 2, 64, "a"));
  EXPECT_FALSE(check_codes(codes, 8, 65, "a"));
  EXPECT_FALSE(check_codes({.n_codebook = 1, .codes = {-1}}, 1, 65, "a"));
}

}  // namespace
}  // namespace parlance
