#include "tts/speech_codec.h"

#include <cmath>

#include "support/damaged_gguf.h"
#include "support/fixtures.h"
#include "support/npy.h"
#include "support/temporary_folder.h"
#include "support/tested_device.h"
#include "tts/support/codec_full.h"

namespace parlance::test {
namespace {

std::vector<int32_t> as_codes(const NpyArray& array) {
  return {array.values.begin(), array.values.end()};
}

// Largest difference, over the largest value.
double relative_difference(const std::vector<float>& got, const std::vector<double>& want) {
  EXPECT_EQ(got.size(), want.size());
  if (got.size() != want.size()) return INFINITY;
  double difference = 0, scale = 1e-30;
  for (size_t i = 0; i < got.size(); ++i) {
    difference = std::max(difference, std::fabs(static_cast<double>(got[i]) - want[i]));
    scale = std::max(scale, std::fabs(want[i]));
  }
  return difference / scale;
}

struct LoadedCodec {
  GgufFile file;
  std::unique_ptr<OmniVoiceCodec> model;
};

class SpeechCodecFixture : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("omnivoice/codec_tiny");
    device_ = std::move(*make_tested_device({.n_threads = 2, .isa = name_of(GetParam())}));
  }

  void load(const std::filesystem::path& path) {
    auto file = GgufFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    file_.emplace(*std::move(file));
    auto model = OmniVoiceCodec::load(*file_, *device_);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
  }

  static std::filesystem::path root() { return fixtures_root() / "omnivoice"; }

  std::vector<float> decode(SpeechCodec& codec, const std::vector<int32_t>& codes, int64_t first,
                            int64_t last) {
    std::vector<float> pcm;
    const auto done = codec.decode(codes, std::ssize(codes) / codec.n_codebook(), first, last, pcm);
    EXPECT_TRUE(done) << done.error().message;
    return pcm;
  }

  // Every recording `<name>.codes.npy` with `.pcm*.npy` or `.wav24k.npy` in a folder.
  void check_folder(const std::string& folder, const std::string& pcm_suffix, double tolerance) {
    SpeechCodec codec(*model_, *device_);
    int n_checked = 0;
    for (const auto& path : fixture_files("omnivoice/" + folder, ".codes.npy")) {
      const std::string name =
          path.string().substr(0, path.string().size() - std::string(".codes.npy").size());
      SCOPED_TRACE(name);
      const auto codes = as_codes(read_npy(path));
      if (const std::filesystem::path wave = name + ".wav24k.npy"; std::filesystem::exists(wave)) {
        const auto got = codec.encode(read_npy(wave).as_floats());
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(*got, codes);
        ++n_checked;
      }
      if (const std::filesystem::path pcm = name + pcm_suffix; std::filesystem::exists(pcm)) {
        const auto n_frames = std::ssize(codes) / codec.n_codebook();
        EXPECT_LE(relative_difference(decode(codec, codes, 0, n_frames), read_npy(pcm).values), tolerance);
        ++n_checked;
      }
    }
    EXPECT_GT(n_checked, 0);
  }

  std::optional<GgufFile> file_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<OmniVoiceCodec> model_;
};

TEST_P(SpeechCodecFixture, TinyCodec) {
  if (IsSkipped()) return;
  load(root() / "models/codec-tiny-f32.gguf");
  check_folder("codec_tiny", ".pcm.npy", 2e-5);
}

// The codec's real sizes, with weights made by the fixtures' formula. The fastest set only: it is a large
// file.
TEST_P(SpeechCodecFixture, CodecOfRealSize) {
  if (IsSkipped()) return;
  if (GetParam() != available_isas().back()) GTEST_SKIP() << "run on the best instruction set";
  const auto path = full_codec();
  if (path.empty()) GTEST_SKIP() << "no codec_full/recipe.tsv, or no room for 732 MB in the temporary folder";
  load(path);
  check_folder("codec_full", ".pcm_float64.npy", 2e-5);
  check_folder("codec_full", ".pcm.npy", 1.5e-3);  // of a program whose convolutions round to half
}

// Windows give the same sound as the whole, as far as products in other sizes round alike.
TEST_P(SpeechCodecFixture, WindowsAreTheWhole) {
  if (IsSkipped()) return;
  load(root() / "models/codec-tiny-f32.gguf");
  SpeechCodec codec(*model_, *device_);
  const int64_t n_frames = 40;
  std::vector<int32_t> codes;
  for (int64_t i = 0; i < codec.n_codebook() * n_frames; ++i)
    codes.push_back(static_cast<int32_t>((i * 37 + i / 7) % codec.n_codes()));
  const std::vector<float> whole = decode(codec, codes, 0, n_frames);
  std::vector<float> pieces;
  for (int64_t first = 0; first < n_frames; first += 7) {
    const auto piece = decode(codec, codes, first, std::min(n_frames, first + 7));
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_LE(relative_difference(pieces, {whole.begin(), whole.end()}), 5e-6);
}

TEST_P(SpeechCodecFixture, LongReferencesAreEncodedInWindows) {
  if (IsSkipped()) return;
  load(root() / "models/codec-tiny-f32.gguf");
  SpeechCodec codec(*model_, *device_);
  std::vector<float> sound(static_cast<size_t>(130 * codec.samples_per_frame()));
  uint32_t state = 1;
  for (float& x : sound)
    x = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-25f - 0.25f;
  const auto codes = codec.encode(sound);
  ASSERT_TRUE(codes) << codes.error().message;
  EXPECT_EQ(std::ssize(*codes), 130 * codec.n_codebook());
}

TEST_P(SpeechCodecFixture, RefusesWhatCannotBe) {
  if (IsSkipped()) return;
  load(root() / "models/codec-tiny-f32.gguf");
  SpeechCodec codec(*model_, *device_);
  std::vector<float> pcm;
  std::vector<int32_t> codes(static_cast<size_t>(codec.n_codebook() * 2), 0);
  EXPECT_FALSE(codec.decode(codes, 3, 0, 3, pcm));
  EXPECT_FALSE(codec.decode(codes, 2, 1, 1, pcm));
  codes[1] = static_cast<int32_t>(codec.n_codes());
  EXPECT_FALSE(codec.decode(codes, 2, 0, 2, pcm));
  for (const size_t n : {0, 1, 50, 99}) EXPECT_FALSE(codec.encode(std::vector<float>(n, 0.1f))) << n;
  EXPECT_FALSE(codec.encode(std::vector<float>(24000 * 61, 0.1f)));
  std::vector<float> sound(24000, 0.1f);
  sound[7] = NAN;
  EXPECT_FALSE(codec.encode(sound));
}

// Whatever network they are of; nothing is appended to what was there.
TEST_P(SpeechCodecFixture, DamagedWeightsAreAnError) {
  if (IsSkipped()) return;
  const TemporaryFolder folder;
  const auto load_damaged = [&](const char* tensor) {
    ASSERT_NO_FATAL_FAILURE(damage_gguf(root() / "models/codec-tiny-f32.gguf", folder / "damaged.gguf",
                                        tensor, 0, std::nanf("")));
    load(folder / "damaged.gguf");
  };
  const auto expect_named = [](const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::corrupt_file);
    EXPECT_NE(error.message.find("damaged.gguf"), std::string::npos) << error.message;
  };
  for (const char* tensor : {"acoustic_decoder.block.0.conv_t1.bias", "acoustic_decoder.conv2.bias"}) {
    SCOPED_TRACE(tensor);
    ASSERT_NO_FATAL_FAILURE(load_damaged(tensor));
    SpeechCodec codec(*model_, *device_);
    std::vector<float> pcm{1, 2};
    const auto decoded =
        codec.decode(std::vector<int32_t>(static_cast<size_t>(codec.n_codebook() * 2)), 2, 0, 2, pcm);
    ASSERT_FALSE(decoded);
    expect_named(decoded.error());
    EXPECT_EQ(pcm, (std::vector<float>{1, 2}));
  }
  for (const char* tensor : {"acoustic_encoder.conv1.bias", "acoustic_encoder.block.2.res_unit2.conv1.bias",
                             "semantic_model.encoder.layers.1.feed_forward.output_dense.bias"}) {
    SCOPED_TRACE(tensor);
    ASSERT_NO_FATAL_FAILURE(load_damaged(tensor));
    const auto encoded = SpeechCodec(*model_, *device_).encode(std::vector<float>(24000, 0.1f));
    ASSERT_FALSE(encoded);
    expect_named(encoded.error());
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, SpeechCodecFixture, ::testing::ValuesIn(available_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance::test
