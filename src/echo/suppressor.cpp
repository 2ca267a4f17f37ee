#include "echo/suppressor.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace parlance {

namespace {

constexpr float kLeastGain =
    0.1f;  // 20 dB: what is left of echo is no more than a whisper, and no musical noise
constexpr float kRemembers = 0.9f;     // of the signal that was found a frame ago
constexpr float kSmooth = 0.3f;        // of a bin's power, a frame
constexpr float kNoiseFalls = 0.1f;    // a frame
constexpr float kNoiseRises = 1.005f;  // 2 dB in a second
constexpr float kLeastNoise = 1e-6f, kMostNoise = 1;
constexpr int kFirstFrames = 20;      // of which the last is taken for noise
constexpr float kNoiseIsMore = 1.5f;  // than the softest, on average
constexpr size_t kBands = 13, kBandBins = 8, kFirstBin = 2;
constexpr float kMostExcessDb = 20;  // of a band: a single tone is no voice

}  // namespace

Suppressor::Suppressor() : frame_(2 * kEchoFrame), overlap_(kEchoFrame) {
  for (size_t i = 0; i < 2 * kEchoFrame; ++i) {
    const double at = (static_cast<double>(i) + 0.5) / (2 * static_cast<double>(kEchoFrame));
    window_.push_back(static_cast<float>(std::sin(std::numbers::pi * at)));
  }
}

void Suppressor::observe_noise(const Bins& power) {
  for (size_t bin = 0; bin < kEchoBins; ++bin) {
    smoothed_[bin] = n_frames_ == 0 ? power[bin] : smoothed_[bin] + kSmooth * (power[bin] - smoothed_[bin]);
    const float is = smoothed_[bin];
    float& noise = noise_[bin];
    noise = n_frames_ < kFirstFrames ? is
            : is < noise             ? noise + kNoiseFalls * (is - noise)
                                     : noise * kNoiseRises;
    noise = std::clamp(noise, kLeastNoise, kMostNoise);
  }
  n_frames_ = std::min(n_frames_ + 1, kFirstFrames);
}

void Suppressor::process(std::span<const float> left, std::span<const float> residual, std::span<float> out) {
  std::shift_left(frame_.begin(), frame_.end(), kEchoFrame);
  std::ranges::copy(left, frame_.end() - kEchoFrame);
  std::array<float, 2 * kEchoFrame> windowed;
  for (size_t i = 0; i < windowed.size(); ++i) windowed[i] = window_[i] * frame_[i];
  fft_.forward(windowed, re_, im_);

  Bins power;
  for (size_t bin = 0; bin < kEchoBins; ++bin) power[bin] = re_[bin] * re_[bin] + im_[bin] * im_[bin];
  observe_noise(power);
  for (size_t bin = 0; bin < kEchoBins; ++bin) {
    echo_[bin] = 0.5f * (residual[bin] + last_residual_[bin]);
    last_residual_[bin] = residual[bin];
    const float above = power[bin] / (echo_[bin] + noise_[bin]);
    const float signal = kRemembers * kept_[bin] + (1 - kRemembers) * std::max(above - 1, 0.0f);
    const float gain = std::max(signal / (1 + signal), kLeastGain);
    kept_[bin] = gain * gain * above;
    re_[bin] *= gain;
    im_[bin] *= gain;
  }

  float sum_db = 0;
  for (size_t band = 0; band < kBands; ++band) {
    float is = kLeastNoise, explained = kLeastNoise;
    for (size_t bin = kFirstBin + band * kBandBins; bin < kFirstBin + (band + 1) * kBandBins; ++bin) {
      is += power[bin];
      explained += echo_[bin] + kNoiseIsMore * noise_[bin];
    }
    sum_db += std::clamp(10 * std::log10(is / explained), 0.0f, kMostExcessDb);
  }
  excess_db_ = sum_db / kBands;

  fft_.inverse(re_, im_, windowed);
  for (size_t i = 0; i < kEchoFrame; ++i) {
    out[i] = overlap_[i] + window_[i] * windowed[i];
    overlap_[i] = window_[kEchoFrame + i] * windowed[kEchoFrame + i];
  }
}

}  // namespace parlance
