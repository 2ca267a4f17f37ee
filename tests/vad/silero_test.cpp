// The detector against recorded numbers of the reference, on every instruction set.
#include "vad/silero.h"

#include <cmath>
#include <limits>
#include <random>

#include "support/npy.h"
#include "vad/support/vad_fixtures.h"

namespace parlance::test {
namespace {

constexpr double kProbability = 1e-4, kState = 5e-4;  // within which correct implementations differ

class SileroTest : public ::testing::TestWithParam<Isa> {
 protected:
  static SileroVad vad_of(const std::string& file) { return SileroVad(load_vad(file), GetParam()); }
};

// The instruction sets with a step of their own.
std::vector<Isa> distinct_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : available_isas()) {
    if (isas.empty() || silero_step_of(isa) != silero_step_of(isas.back())) isas.push_back(isa);
  }
  return isas;
}

INSTANTIATE_TEST_SUITE_P(Isas, SileroTest, ::testing::ValuesIn(distinct_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

NpyArray fixture(const std::string& name) {
  return read_npy(fixtures_root() / "vad" / name);
}

void expect_near(std::span<const float> got, std::span<const double> want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], tolerance) << what << " at " << i;
    worst = std::max(worst, std::fabs(static_cast<double>(got[i]) - want[i]));
  }
  ::testing::Test::RecordProperty(what, std::to_string(worst));
}

TEST_P(SileroTest, GivesTheReferencesProbabilitiesAndStates) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  for (const VadWeightSet& set : kVadWeightSets) {
    SileroVad vad = vad_of(set.file);
    for (const std::string& wave : kVadWaves) {
      vad.reset();
      const std::string name = wave + "." + set.name;
      expect_near(vad_probabilities(vad, read_vad_wave(wave)), fixture(name + ".prob.npy").values,
                  kProbability, name);
      const std::vector<double> state = fixture(name + ".state.npy").values;
      expect_near(vad.state().h, std::span(state).first(kSileroHidden), kState, name + ".h");
      expect_near(vad.state().c, std::span(state).last(kSileroHidden), kState, name + ".c");
    }
  }
}

TEST_P(SileroTest, GivesTheProbabilitiesOfRoundedWeights) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  SileroVad vad = vad_of("silero-vad-v5.gguf");
  for (const std::string& wave : kVadWaves) {
    vad.reset();
    expect_near(vad_probabilities(vad, read_vad_wave(wave)), fixture(wave + ".v6.2-f16.prob.npy").values,
                kProbability, wave + ".v6.2-f16");
  }
  // Some of the .bin file's weights are f16: no recorded numbers, but a bound on what that may change.
  SileroVad half_rounded = vad_of("silero-vad-v5.1.2.ggml.bin");
  for (const std::string& wave : kVadWaves) {
    half_rounded.reset();
    expect_near(vad_probabilities(half_rounded, read_vad_wave(wave)),
                fixture(wave + ".v5.1.2.prob.npy").values, 0.0028, wave + ".bin");
  }
}

// The columns of a recorded array (channels, moments) as rows.
std::vector<double> by_moment(const NpyArray& array) {
  const auto n_channels = static_cast<size_t>(array.shape[0]),
             n_moments = static_cast<size_t>(array.shape[1]);
  std::vector<double> values;
  for (size_t t = 0; t < n_moments; ++t) {
    for (size_t c = 0; c < n_channels; ++c) values.push_back(array.values[c * n_moments + t]);
  }
  return values;
}

TEST_P(SileroTest, EveryLayerGivesWhatTheReferenceHasThere) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  auto taps = read_npz(fixtures_root() / "vad" / "taps.npz");
  SileroVad vad = vad_of("silero_vad_16k.safetensors");
  const std::vector<float> samples = read_vad_wave("jfk");
  const auto window = [&](size_t i) {
    return std::span(samples).subspan(i * kSileroWindow).first<kSileroWindow>();
  };
  for (size_t i = 0; i < 40; ++i) vad.process(window(i));
  expect_near(vad.state().h, taps["h_in"].values, kState, "h before");
  expect_near(vad.state().c, taps["c_in"].values, kState, "c before");
  expect_near(vad.state().context, taps["context"].values, 0, "context");
  expect_near(window(40), taps["window"].values, 0, "window");
  const float probability = vad.process(window(40));
  const SileroActivations& a = vad.activations();
  expect_near({a.magnitudes[1], kSileroFrames * kSileroBins}, by_moment(taps["mag"]), 1e-5, "mag");
  expect_near({a.encoded1[1], kSileroFrames * 128}, by_moment(taps["enc1"]), 1e-4, "enc1");
  expect_near({a.encoded2[0], 2 * 64}, by_moment(taps["enc2"]), 1e-4, "enc2");
  expect_near(a.encoded3, by_moment(taps["enc3"]), 1e-4, "enc3");
  expect_near({a.lstm_input, kSileroHidden}, by_moment(taps["enc4"]), 1e-4, "enc4");
  expect_near(a.gates, taps["gates"].values, kState, "gates");
  expect_near(vad.state().h, taps["h"].values, kState, "h");
  expect_near(vad.state().c, taps["c"].values, kState, "c");
  EXPECT_NEAR(static_cast<double>(probability), taps["prob"].values[0], kProbability);
}

TEST_P(SileroTest, SilenceFirst) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  const std::array<float, kSileroWindow> zeros{};
  EXPECT_NEAR(vad_of("silero_vad_16k.safetensors").process(zeros), 0.0180f, 5e-5);
  EXPECT_NEAR(vad_of("silero_vad_16k_v6.2.safetensors").process(zeros), 0.00167f, 5e-6);
  EXPECT_NEAR(vad_of("silero_vad_16k_v5.1.2.safetensors").process(zeros), 0.0120f, 5e-5);
}

// Random weights and loud noise: sums are larger than speech makes them.
TEST_P(SileroTest, DoesWhatTheDefinitionDoes) {
  std::mt19937 random(7);
  const auto fill = [&](std::vector<float>& values, int64_t n, float limit) {
    std::uniform_real_distribution<float> distribution(-limit, limit);
    values.resize(static_cast<size_t>(n));
    for (float& value : values) value = distribution(random);
  };
  SileroWeights weights;
  for (int64_t row = 0; row < 2 * kSileroBins; ++row) {
    for (int64_t n = 0; n < kSileroFrame; ++n) {
      const double turn = 2 * M_PI / kSileroFrame;
      const double angle = turn * static_cast<double>(row % kSileroBins * n);
      const double wave = row < kSileroBins ? std::cos(angle) : -std::sin(angle);
      const double window = 0.5 * (1 - std::cos(turn * static_cast<double>(n)));
      weights.basis.push_back(static_cast<float>(window * wave));
    }
  }
  for (size_t i = 0; i < kSileroConvs.size(); ++i) {
    const auto& [n_in, n_out, stride] = kSileroConvs[i];
    fill(weights.conv_weight[i], n_out * n_in * kSileroTaps, 1 / std::sqrt(static_cast<float>(n_in)));
    fill(weights.conv_bias[i], n_out, 0.5f);
  }
  fill(weights.lstm_weight_ih, kSileroGates * kSileroHidden, 0.02f);
  fill(weights.lstm_weight_hh, kSileroGates * kSileroHidden, 0.1f);
  fill(weights.lstm_bias_ih, kSileroGates, 0.5f);
  fill(weights.lstm_bias_hh, kSileroGates, 0.5f);
  fill(weights.head_weight, kSileroHidden, 1);
  fill(weights.head_bias, 1, 1);
  const auto model = make_silero_model(weights);
  SileroVad defined(model, Isa::scalar), tested(model, GetParam());
  std::vector<float> samples;
  for (const float loudness : {0.0f, 1e-4f, 0.01f, 0.3f, 1.0f, 0.0f, 0.001f}) {
    fill(samples, kSileroWindow, loudness);
    const auto window = std::span(samples).first<kSileroWindow>();
    ASSERT_NEAR(tested.process(window), defined.process(window), 1e-5) << loudness;
    for (size_t i = 0; i < kSileroHidden; ++i) {
      ASSERT_NEAR(tested.state().h[i], defined.state().h[i], 1e-5) << loudness;
      ASSERT_NEAR(tested.state().c[i], defined.state().c[i], 1e-5) << loudness;
    }
  }
}

TEST_P(SileroTest, BrokenSamplesCountAsSilence) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  const auto model = load_vad("silero_vad_16k_v6.2.safetensors");
  std::vector<float> broken = read_vad_wave("short_1000"), mended = broken;
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()};
  for (size_t i = 0; i < broken.size(); i += 37) {
    broken[i] = bad[i % 3];
    mended[i] = 0;
  }
  SileroVad one(model, GetParam()), other(model, GetParam());
  EXPECT_EQ(vad_probabilities(one, broken), vad_probabilities(other, mended));
  EXPECT_EQ(one.state().c, other.state().c);

  const std::vector<float> huge(kSileroWindow * 4, std::numeric_limits<float>::max());
  for (const float probability : vad_probabilities(one, huge)) EXPECT_TRUE(std::isfinite(probability));
  for (const float c : one.state().c) EXPECT_TRUE(std::isfinite(c));
}

TEST_P(SileroTest, StreamsOfOneModelDoNotDisturbEachOther) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  const auto model = load_vad("silero_vad_16k_v6.2.safetensors");
  SileroVad alone(model, GetParam()), one(model, GetParam()), other(model, GetParam());
  const auto speech = read_vad_wave("jfk"), noise = read_vad_wave("noise_tones");
  for (size_t i = 0; i < 60; ++i) {
    const auto window = std::span(speech).subspan(i * kSileroWindow).first<kSileroWindow>();
    const float probability = alone.process(window);
    EXPECT_EQ(one.process(window), probability);
    other.process(std::span(noise).subspan(i * kSileroWindow).first<kSileroWindow>());
  }
  one.reset();
  EXPECT_EQ(one.state().h, SileroState().h);
  SileroVad fresh(model, GetParam());
  EXPECT_EQ(vad_probabilities(one, noise), vad_probabilities(fresh, noise));
}

}  // namespace
}  // namespace parlance::test
