// The detector against recorded numbers of the reference, on every instruction set.
#include "vad/silero.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "support/npy.h"
#include "vad/support/vad_fixtures.h"

namespace parlance::test {
namespace {

constexpr double kProbability = 1e-4, kState = 5e-4;  // within which correct implementations differ

class SileroTest : public ::testing::TestWithParam<Isa> {};

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
  std::map<std::string, std::shared_ptr<const SileroModel>> models;
  const std::vector<VadRecord> records = vad_records();
  EXPECT_FALSE(records.empty()) << "no record W.S.prob.npy in " << vad_fixtures();
  for (const VadRecord& record : records) {
    if (!models.contains(record.set)) models[record.set] = load_vad(record.set);
    if (!models[record.set]) continue;  // reported
    SileroVad vad(models[record.set], GetParam());
    expect_near(vad_probabilities(vad, read_vad_wave(record.wave)), read_npy(record.probabilities).values,
                kProbability, record.name());
    if (!std::filesystem::exists(record.state)) continue;
    const std::vector<double> state = read_npy(record.state).values;
    ASSERT_EQ(state.size(), size_t{2 * kSileroHidden}) << record.state;
    expect_near(vad.state().h, std::span(state).first(kSileroHidden), kState, record.name() + ".h");
    expect_near(vad.state().c, std::span(state).last(kSileroHidden), kState, record.name() + ".c");
  }
}

// Some of the .bin file's weights are f16: no recorded numbers, but a bound on what that may change.
TEST_P(SileroTest, HalfRoundedWeightsStayNear) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  PARLANCE_REQUIRE_FIXTURES("../data/silero-vad-v5.1.2.ggml.bin");
  const auto model = load_vad_file(vad_data() / "silero-vad-v5.1.2.ggml.bin");
  ASSERT_TRUE(model);
  constexpr double kRounding = 0.0028;
  for (const VadRecord& record : vad_records()) {
    if (record.set != "v5.1.2") continue;
    SileroVad vad(model, GetParam());
    expect_near(vad_probabilities(vad, read_vad_wave(record.wave)), read_npy(record.probabilities).values,
                kRounding, record.wave + ".bin");
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

// A window of a wave, counted from its first.
struct WindowPlace {
  std::string wave;
  size_t window = 0;
};

// Where the samples were recorded: each window of any wave that is equal to them.
std::vector<WindowPlace> places_of(std::span<const double> window) {
  std::vector<WindowPlace> places;
  for (const std::string& wave : vad_waves()) {
    const std::vector<float> samples = read_vad_wave(wave);
    for (size_t i = 0; (i + 1) * kSileroWindow <= samples.size(); ++i) {
      const auto found = std::span(samples).subspan(i * kSileroWindow, kSileroWindow);
      if (std::ranges::equal(found, window, {}, [](float x) { return static_cast<double>(x); })) {
        places.push_back({wave, i});
      }
    }
  }
  return places;
}

TEST_P(SileroTest, EveryLayerGivesWhatTheReferenceHasThere) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  PARLANCE_REQUIRE_FIXTURES("vad/taps.npz");
  auto taps = read_npz(vad_fixtures() / "taps.npz");
  for (const char* name : {"h_in", "c_in", "context", "window", "mag", "enc1", "enc2", "enc3", "enc4",
                           "gates", "h", "c", "prob"}) {
    ASSERT_TRUE(taps.contains(name)) << "taps.npz has no array " << name;
  }
  const std::vector<WindowPlace> places = places_of(taps["window"].values);
  ASSERT_FALSE(places.empty()) << "the window of taps.npz is in none of the waves";
  const auto model = load_vad("base");
  ASSERT_TRUE(model);
  const auto [wave, number] = places.front();
  SCOPED_TRACE(wave + ", window " + std::to_string(number));
  SileroVad vad(model, GetParam());
  const std::vector<float> samples = read_vad_wave(wave);
  const auto window = [&](size_t i) {
    return std::span(samples).subspan(i * kSileroWindow).first<kSileroWindow>();
  };
  for (size_t i = 0; i < number; ++i) vad.process(window(i));
  expect_near(vad.state().h, taps["h_in"].values, kState, "h before");
  expect_near(vad.state().c, taps["c_in"].values, kState, "c before");
  expect_near(vad.state().context, taps["context"].values, 0, "context");
  const float probability = vad.process(window(number));
  const SileroActivations& a = vad.activations();
  expect_near({a.magnitudes[1], kSileroFrames * kSileroBins}, by_moment(taps["mag"]), 1e-5, "mag");
  expect_near({a.encoded1[1], kSileroFrames * 128}, by_moment(taps["enc1"]), 1e-4, "enc1");
  expect_near({a.encoded2[0], 2 * 64}, by_moment(taps["enc2"]), 1e-4, "enc2");
  expect_near(a.encoded3, by_moment(taps["enc3"]), 1e-4, "enc3");
  expect_near({a.lstm_input, kSileroHidden}, by_moment(taps["enc4"]), 1e-4, "enc4");
  expect_near(a.gates, taps["gates"].values, kState, "gates");
  expect_near(vad.state().h, taps["h"].values, kState, "h");
  expect_near(vad.state().c, taps["c"].values, kState, "c");
  ASSERT_FALSE(taps["prob"].values.empty());
  EXPECT_NEAR(static_cast<double>(probability), taps["prob"].values[0], kProbability);
}

TEST_P(SileroTest, SilenceFirst) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  const std::array<float, kSileroWindow> zeros{};
  for (const auto& [set, probability, tolerance] :
       {std::tuple("base", 0.0180f, 5e-5f), std::tuple("v6.2", 0.00167f, 5e-6f),
        std::tuple("v5.1.2", 0.0120f, 5e-5f)}) {
    if (!std::filesystem::exists(vad_file(set))) continue;
    const auto model = load_vad(set);
    ASSERT_TRUE(model) << set;
    EXPECT_NEAR(SileroVad(model, GetParam()).process(zeros), probability, tolerance) << set;
  }
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

// What is loud enough to move every state.
std::vector<float> noise_of(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-0.3f, 0.3f);
  std::vector<float> samples(n);
  for (float& sample : samples) sample = distribution(random);
  return samples;
}

TEST_P(SileroTest, BrokenSamplesCountAsSilence) {
  PARLANCE_REQUIRE_VAD_FIXTURES();
  const auto model = load_vad();
  ASSERT_TRUE(model);
  std::vector<float> broken = noise_of(1000, 1), mended = broken;
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
  const auto model = load_vad();
  ASSERT_TRUE(model);
  constexpr size_t kWindows = 60;
  const auto a = noise_of(kWindows * kSileroWindow, 2), b = noise_of(kWindows * kSileroWindow, 3);
  SileroVad alone(model, GetParam()), one(model, GetParam()), other(model, GetParam());
  for (size_t i = 0; i < kWindows; ++i) {
    const auto window = std::span(a).subspan(i * kSileroWindow).first<kSileroWindow>();
    const float probability = alone.process(window);
    EXPECT_EQ(one.process(window), probability);
    other.process(std::span(b).subspan(i * kSileroWindow).first<kSileroWindow>());
  }
  one.reset();
  EXPECT_EQ(one.state().h, SileroState().h);
  SileroVad fresh(model, GetParam());
  EXPECT_EQ(vad_probabilities(one, b), vad_probabilities(fresh, b));
}

}  // namespace
}  // namespace parlance::test
