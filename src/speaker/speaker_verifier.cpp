#include "speaker/speaker_verifier.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>

#include "audio/mel.h"

namespace parlance {

namespace {

constexpr float kNormEps = 1e-5f, kDeviationEps = 1e-5f;

// Values of frames or moments, each `width` of them together.
struct Rows {
  int64_t width;
  std::vector<float> values;

  int64_t size() const { return std::ssize(values) / width; }
  std::span<const float> row(int64_t i) const {
    return std::span(values).subspan(static_cast<size_t>(i * width), static_cast<size_t>(width));
  }
  std::span<float> row(int64_t i) {
    return std::span(values).subspan(static_cast<size_t>(i * width), static_cast<size_t>(width));
  }
};

// Log energies of the mel bands, from 8 below the loudest of the recording, at 1, down to -1: without its
// level.
Rows mel_frames(std::span<const float> samples) {
  MelFrontEnd mel;
  mel.push(samples);
  const MelClip clip = mel.finish();
  Rows frames{kMelBands, {}};
  const std::span<const float> final = mel.frames(0, clip.first);
  frames.values.assign(final.begin(), final.end());
  frames.values.insert(frames.values.end(), clip.tail.begin(), clip.tail.end());
  normalise_mel(frames.values, clip.largest);
  for (float& value : frames.values) value -= clip.largest / 4;
  return frames;
}

float gelu(float x) {
  return 0.5f * x * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
}

void layer_norm(std::span<float> x, const SpeakerLayer& w) {
  const auto n = static_cast<float>(x.size());
  const float mean = std::accumulate(x.begin(), x.end(), 0.0f) / n;
  float variance = 0;
  for (const float value : x) variance += (value - mean) * (value - mean) / n;
  const float scale = 1 / std::sqrt(variance + kNormEps);
  for (size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - mean) * scale * w.norm_weight[i] + w.norm_bias[i];
}

// gelu(norm(convolution)); the convolution sees zeros around its inputs.
Rows run_layer(const SpeakerVerifierParameters& hp, const SpeakerLayer& w, const Rows& x) {
  const int64_t pad = hp.kernel / 2, n_out = (x.size() - 1) / hp.stride + 1;
  Rows out{hp.n_channel, std::vector<float>(static_cast<size_t>(n_out * hp.n_channel))};
  for (int64_t t = 0; t < n_out; ++t) {
    const std::span<float> y = out.row(t);
    for (int64_t channel = 0; channel < hp.n_channel; ++channel) {
      float sum = w.bias[static_cast<size_t>(channel)];
      for (int64_t tap = 0; tap < hp.kernel; ++tap) {
        const int64_t at = t * hp.stride + tap - pad;
        if (at < 0 || at >= x.size()) continue;
        const std::span<const float> inputs = x.row(at);
        const float* const weights = w.weight.data() + channel * w.n_in * hp.kernel + tap;
        for (int64_t in = 0; in < w.n_in; ++in)
          sum += weights[in * hp.kernel] * inputs[static_cast<size_t>(in)];
      }
      y[static_cast<size_t>(channel)] = sum;
    }
    layer_norm(y, w);
    for (float& value : y) value = gelu(value);
  }
  return out;
}

float dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0f);
}

// Mean and deviation of each channel over time, weighed by the softmax of what the attention says of a
// moment.
std::vector<float> pool(const SpeakerVerifierWeights& w, const Rows& x) {
  std::vector<float> shares;
  for (int64_t t = 0; t < x.size(); ++t)
    shares.push_back(dot(x.row(t), w.attention_weight) + w.attention_bias[0]);
  const float largest = *std::max_element(shares.begin(), shares.end());
  for (float& share : shares) share = std::exp(share - largest);
  const float sum = std::accumulate(shares.begin(), shares.end(), 0.0f);
  for (float& share : shares) share /= sum;

  const auto width = static_cast<size_t>(x.width);
  std::vector<float> pooled(2 * width);
  const std::span<float> mean = std::span(pooled).first(width), deviation = std::span(pooled).last(width);
  for (int64_t t = 0; t < x.size(); ++t) {
    for (size_t i = 0; i < width; ++i) mean[i] += shares[static_cast<size_t>(t)] * x.row(t)[i];
  }
  for (int64_t t = 0; t < x.size(); ++t) {
    for (size_t i = 0; i < width; ++i) {
      const float difference = x.row(t)[i] - mean[i];
      deviation[i] += shares[static_cast<size_t>(t)] * difference * difference;
    }
  }
  for (float& value : deviation) value = std::sqrt(value + kDeviationEps);
  return pooled;
}

}  // namespace

std::vector<float> SpeakerVerifier::embed(std::span<const float> samples) const {
  assert(!samples.empty());
  Rows x = mel_frames(samples);
  for (const SpeakerLayer& layer : w_.layers) x = run_layer(hp_, layer, x);
  const std::vector<float> pooled = pool(w_, x);
  std::vector<float> embedding = w_.embedding_bias;
  for (size_t i = 0; i < embedding.size(); ++i)
    embedding[i] += dot(pooled, std::span(w_.embedding_weight).subspan(i * pooled.size(), pooled.size()));
  const float length = std::max(std::sqrt(dot(embedding, embedding)), 1e-12f);
  for (float& value : embedding) value /= length;
  return embedding;
}

double likeness(std::span<const float> a, std::span<const float> b) {
  assert(a.size() == b.size());
  return std::clamp(static_cast<double>(dot(a, b)), -1.0, 1.0);
}

}  // namespace parlance
