#include "asr/speech_encoder.h"

#include "asr/support/fixture_clips.h"
#include "support/json_file.h"
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

INSTANTIATE_TEST_SUITE_P(Isas, SpeechEncoderFixture, ::testing::ValuesIn(available_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance::test
