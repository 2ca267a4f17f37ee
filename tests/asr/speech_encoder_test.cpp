#include "asr/speech_encoder.h"

#include <cmath>
#include <random>

#include "asr/support/fixture_clips.h"
#include "support/damaged_gguf.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"
#include "support/tested_device.h"

namespace parlance::test {
namespace {

// The whole of a clip, by the rules of a mode: chunks, then windows.
std::vector<float> encode(SpeechEncoder& encoder, const AsrMode& mode, const std::vector<float>& samples) {
  MelFrontEnd front(mode.mel);
  front.push(samples);
  const MelClip clip = front.finish();
  std::vector<float> mel;
  if (clip.first > 0) {
    const auto final_frames = front.frames(0, clip.first);
    mel.assign(final_frames.begin(), final_frames.end());
  }
  mel.insert(mel.end(), clip.tail.begin(), clip.tail.end());
  normalise_mel(mel, clip.largest);

  std::vector<float> tokens, rows;
  for (int64_t t = 0; t < clip.n_frames; t += mode.chunk_frames) {
    const int64_t n = std::min(mode.chunk_frames, clip.n_frames - t);
    const bool is_alone = clip.n_frames <= mode.chunk_frames && !mode.keeps_padding;
    const auto frames =
        std::span(mel).subspan(static_cast<size_t>(t * kMelBands), static_cast<size_t>(n * kMelBands));
    EXPECT_TRUE(encoder.embed_chunk(frames, is_alone ? n : mode.chunk_frames, tokens));
  }
  const auto window = static_cast<size_t>(encoder.window_tokens() * encoder.n_embd());
  for (size_t at = 0; at < tokens.size(); at += window) {
    EXPECT_TRUE(
        encoder.encode_window(std::span(tokens).subspan(at, std::min(window, tokens.size() - at)), rows));
  }
  return rows;
}

class SpeechEncoderFixture : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/manifest.json");
    manifest_ = asr_manifest();
    device_ = std::move(*make_tested_device({.n_threads = 2, .isa = name_of(GetParam())}));
  }

  static GgufFile encoder_file(const std::string& model) {
    const auto files = find_asr(asr_bundle(model));
    if (!files) throw std::runtime_error(files.error().message);
    auto file = GgufFile::open(files->encoder);
    if (!file) throw std::runtime_error(file.error().message);
    return *std::move(file);
  }

  std::vector<float> run(const std::string& model, const std::string& wave, const AsrMode& mode,
                         WeightPrecision precision) {
    const GgufFile file = encoder_file(model);
    const auto encoder = AudioEncoder::load(file, *device_, precision);
    if (!encoder) throw std::runtime_error(encoder.error().message);
    const auto speech = SpeechEncoder::create(**encoder, *device_, mode);
    if (!speech) throw std::runtime_error(speech.error().message);
    return encode(**speech, mode, fixture_wave(manifest_, wave));
  }

  nlohmann::json manifest_;
  std::unique_ptr<Device> device_;
};

TEST_P(SpeechEncoderFixture, ReferenceRows) {
  if (IsSkipped()) return;
  for (const auto& [model, waves] : manifest_.at("ref").items()) {
    for (const auto& [wave, expected] : waves.items()) {
      const auto file = fixtures_root() / "asr/ref" / model / (wave + ".enc.npy");
      if (!std::filesystem::exists(file)) continue;
      SCOPED_TRACE(model + " " + wave);
      const NpyArray want = read_npy(file);
      ASSERT_FALSE(want.shape.empty());
      EXPECT_EQ(want.shape[0], expected.at("n_audio_tokens"));
      EXPECT_LE(relative_l2(run(model, wave, kReferenceAsr, WeightPrecision::f32), want.values), 5e-6);
      // Activations rounded to bytes before they meet quantised weights: as for llama.cpp below.
      if (!is_quantised(encoder_file(model))) continue;
      EXPECT_LE(relative_l2(run(model, wave, kReferenceAsr, WeightPrecision::as_stored), want.values), 0.03);
    }
  }
}

TEST_P(SpeechEncoderFixture, RowsOfTheElizaProgram) {
  if (IsSkipped()) return;
  for (const auto& [model, waves] : manifest_.at("fork").items()) {
    for (const auto& [wave, runs] : waves.items()) {
      std::vector<double> want;
      for (int i = 0;; ++i) {
        const auto file = fixtures_root() / "asr/fork" / model / fmt::format("{}.embd{}.npy", wave, i);
        if (!std::filesystem::exists(file)) break;
        const NpyArray rows = read_npy(file);
        want.insert(want.end(), rows.values.begin(), rows.values.end());
      }
      if (want.empty()) continue;
      SCOPED_TRACE(model + " " + wave);
      const auto got = run(model, wave, kElizaAsr, WeightPrecision::as_stored);
      EXPECT_LE(relative_l2(got, want), is_quantised(encoder_file(model)) ? 0.03 : 2e-6);
    }
  }
}

// An error of the encoder, which names its file: the language model would be blamed for what it is told.
TEST_P(SpeechEncoderFixture, DamagedWeightsAreAnError) {
  if (IsSkipped()) return;
  const auto files = find_asr(asr_bundle(asr_bundles().front()));
  ASSERT_TRUE(files) << files.error().message;
  const TemporaryFolder folder;
  for (const char* tensor : {"a.conv2d.1.bias", "a.blk.0.ln1.weight", "mm.a.mlp.2.bias"}) {
    SCOPED_TRACE(tensor);
    ASSERT_NO_FATAL_FAILURE(damage_gguf(files->encoder, folder / "damaged.gguf", tensor, 0, std::nanf("")));
    const auto file = GgufFile::open(folder / "damaged.gguf");
    const auto encoder = *AudioEncoder::load(*file, *device_);
    const auto speech = *SpeechEncoder::create(*encoder, *device_, kReferenceAsr);
    std::vector<float> tokens, rows{1, 2, 3};
    ASSERT_TRUE(speech->embed_chunk(std::vector<float>(100 * kMelBands, 0.25f), 100, tokens));
    const auto encoded = speech->encode_window(tokens, rows);
    ASSERT_FALSE(encoded);
    EXPECT_EQ(encoded.error().code, ErrorCode::corrupt_file);
    EXPECT_NE(encoded.error().message.find("damaged.gguf"), std::string::npos) << encoded.error().message;
    EXPECT_EQ(rows, (std::vector<float>{1, 2, 3}));
  }
}

// The last tokens of a chunk, from the frames that they see, and the first ones, before there are more
// frames: the bits of the whole.
TEST_P(SpeechEncoderFixture, PartsOfAChunk) {
  if (IsSkipped()) return;
  std::vector<float> frames(100 * kMelBands);
  std::mt19937 random(5);
  for (float& frame : frames) frame = static_cast<float>(random()) * 0x1p-31f - 1;
  const GgufFile file = encoder_file(asr_bundles().front());
  const auto encoder = *AudioEncoder::load(file, *device_, WeightPrecision::as_stored);
  for (const AsrMode& mode : {kReferenceAsr, kElizaAsr}) {
    const auto speech = *SpeechEncoder::create(*encoder, *device_, mode);
    const auto embed = [&](int64_t n, int64_t n_padded, int64_t n_known) {
      std::vector<float> tokens(static_cast<size_t>(n_known * speech->n_embd()));
      EXPECT_TRUE(speech->embed_chunk(std::span(frames).first(static_cast<size_t>(n * kMelBands)), n_padded,
                                      tokens, {}, n_known));
      return tokens;
    };
    std::vector<std::vector<float>> before;  // of so many final tokens
    for (int64_t n = 0; n <= 12; ++n)
      before.push_back(embed(std::max<int64_t>(1, AudioEncoder::kFramesPerToken * n), mode.chunk_frames, 0));
    for (const int64_t n : {7, 8, 57, 95, 100}) {
      for (const int64_t n_padded : {n, mode.chunk_frames}) {
        const std::vector<float> whole = embed(n, n_padded, 0);
        for (int64_t known = 0; known <= AudioEncoder::n_final_tokens(n); ++known) {
          SCOPED_TRACE(testing::Message() << known << " known of " << n << " in " << n_padded);
          const auto at = static_cast<std::ptrdiff_t>(known * speech->n_embd());
          const std::vector<float> rest = embed(n, n_padded, known);
          ASSERT_EQ(rest.size(), whole.size());
          EXPECT_TRUE(std::equal(rest.begin() + at, rest.end(), whole.begin() + at));
          if (!speech->are_alike(mode.chunk_frames, n_padded)) continue;
          const auto& first = before[static_cast<size_t>(known)];
          EXPECT_TRUE(std::equal(first.begin(), first.begin() + at, whole.begin()));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, SpeechEncoderFixture, ::testing::ValuesIn(available_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance::test
