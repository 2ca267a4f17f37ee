#include "vad/silero.h"

#include <algorithm>
#include <cmath>

namespace parlance {

namespace {

constexpr float kLargestSample = 32768;

// Of a row of the transform's basis: what multiplies the sum (sign 1) or difference (sign -1) of samples n
// and 256 - n. The basis has that symmetry, and nothing at sample 0.
float folded(std::span<const float> basis, int64_t row, int64_t n, float sign) {
  const auto value = [&](int64_t at) { return basis[static_cast<size_t>(row * kSileroFrame + at)]; };
  return n == kSileroFrame / 2 ? value(n) : (value(n) + sign * value(kSileroFrame - n)) / 2;
}

SileroLayer transform_layer_of(std::span<const float> basis, float sign) {
  constexpr int64_t kOutputs = SileroWeightRow::kOutputs, kHalf = kSileroFrame / 2, kBins = kSileroBins - 1;
  SileroLayer layer{kHalf, kBins, {}, std::vector<float>(kBins)};
  layer.rows.resize(kBins / kOutputs * kHalf);
  for (int64_t bin = 0; bin < kBins; ++bin) {
    for (int64_t n = 1; n <= kHalf; ++n) {
      layer.rows[static_cast<size_t>(bin / kOutputs * kHalf + n - 1)]
          .values[static_cast<size_t>(bin % kOutputs)] = folded(basis, bin, n, sign);
    }
  }
  return layer;
}

// A layer of `n_taps` of a convolution's taps, from `first_tap` on.
SileroLayer layer_of(const SileroWeights& weights, size_t i, int64_t first_tap, int64_t n_taps) {
  const SileroConv& conv = kSileroConvs[i];
  constexpr int64_t kOutputs = SileroWeightRow::kOutputs;
  SileroLayer layer{n_taps * conv.n_in, conv.n_out, {}, weights.conv_bias[i]};
  layer.rows.resize(static_cast<size_t>(conv.n_out / kOutputs * layer.n_in));
  for (int64_t out = 0; out < conv.n_out; ++out) {
    for (int64_t in = 0; in < conv.n_in; ++in) {
      for (int64_t tap = 0; tap < n_taps; ++tap) {
        const int64_t from = (out * conv.n_in + in) * kSileroTaps + first_tap + tap;
        const int64_t row = out / kOutputs * layer.n_in + tap * conv.n_in + in;
        layer.rows[static_cast<size_t>(row)].values[static_cast<size_t>(out % kOutputs)] =
            weights.conv_weight[i][static_cast<size_t>(from)];
      }
    }
  }
  return layer;
}

SileroLayer lstm_layer_of(const SileroWeights& weights) {
  constexpr int64_t kOutputs = SileroWeightRow::kOutputs;
  SileroLayer layer{2 * kSileroHidden, kSileroGates, {}, weights.lstm_bias_ih};
  layer.rows.resize(static_cast<size_t>(kSileroGates / kOutputs * layer.n_in));
  for (int64_t gate = 0; gate < kSileroGates; ++gate) {
    layer.bias[static_cast<size_t>(gate)] += weights.lstm_bias_hh[static_cast<size_t>(gate)];
    for (int64_t in = 0; in < layer.n_in; ++in) {
      const auto& matrix = in < kSileroHidden ? weights.lstm_weight_ih : weights.lstm_weight_hh;
      layer.rows[static_cast<size_t>(gate / kOutputs * layer.n_in + in)]
          .values[static_cast<size_t>(gate % kOutputs)] =
          matrix[static_cast<size_t>(gate * kSileroHidden + in % kSileroHidden)];
    }
  }
  return layer;
}

float cleaned(float sample) {
  if (!std::isfinite(sample)) return 0;
  return std::clamp(sample, -kLargestSample, kLargestSample);
}

}  // namespace

std::shared_ptr<const SileroModel> make_silero_model(SileroWeights weights) {
  auto model = std::make_shared<SileroModel>();
  model->weights = std::move(weights);
  model->cosines = transform_layer_of(model->weights.basis, 1);
  model->sines = transform_layer_of(std::span(model->weights.basis).last(kSileroBins * kSileroFrame), -1);
  for (int64_t n = 1; n <= kSileroFrame / 2; ++n) {
    model->last_cosines.push_back(folded(model->weights.basis, kSileroBins - 1, n, 1));
  }
  model->convs[0] = layer_of(model->weights, 0, 0, 3);
  model->convs[1] = layer_of(model->weights, 1, 0, 3);
  model->convs[2] = layer_of(model->weights, 2, 1, 2);  // two moments: the first tap sees padding
  model->convs[3] = layer_of(model->weights, 3, 1, 1);  // one moment: so does the last
  model->lstm = lstm_layer_of(model->weights);
  return model;
}

Result<std::shared_ptr<const SileroModel>> load_silero(const std::filesystem::path& path) {
  PARLANCE_TRY(auto weights, read_silero_weights(path));
  return make_silero_model(std::move(weights));
}

SileroVad::SileroVad(std::shared_ptr<const SileroModel> model, Isa isa)
    : model_(std::move(model)), step_(silero_step_of(isa)) {}

float SileroVad::process(std::span<const float, kSileroWindow> samples) {
  auto& padded = activations_.samples;
  auto next = std::copy(state_.context.begin(), state_.context.end(), padded.begin());
  next = std::transform(samples.begin(), samples.end(), next, cleaned);
  std::copy(next - kSileroContext, next, state_.context.begin());
  std::reverse_copy(next - kSileroContext - 1, next - 1, next);  // reflected; the last sample is not repeated
  return step_(*model_, activations_, state_);
}

void SileroVad::reset() {
  state_ = {};
}

}  // namespace parlance
