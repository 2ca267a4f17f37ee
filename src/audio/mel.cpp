#include "audio/mel.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

#include "audio/fft.h"

namespace parlance {

namespace {

constexpr int64_t kWindow = 400;         // samples of a frame
constexpr int64_t kReach = kWindow / 2;  // on each side of its centre
constexpr int64_t kBins = kWindow / 2 + 1;
constexpr int64_t kShortestClip = 8000;  // half a second, where the last frame is dropped
constexpr int64_t kBatch = 16;           // frames that are computed at once

// A triangle over the bins of the spectrum, without the zeros around it.
struct Band {
  int64_t first_bin = 0;
  std::vector<float> weights;
};

// Slaney's scale: linear up to 1000 Hz (15 mel), logarithmic above.
double hz_of_mel(double mel) {
  constexpr double kHzPerMel = 200.0 / 3;
  return mel < 15 ? mel * kHzPerMel : 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
}
double mel_of_hz(double hz) {
  return hz < 1000 ? 3 * hz / 200 : 15 + std::log(hz / 1000) * 27 / std::log(6.4);
}

struct Tables {
  RealFft fft{kWindow};
  std::array<float, kWindow> window;  // Hann, periodic
  std::array<Band, kMelBands> bands;

  Tables() {
    for (int64_t i = 0; i < kWindow; ++i) {
      window[static_cast<size_t>(i)] =
          static_cast<float>(0.5 * (1 - std::cos(2 * std::numbers::pi * static_cast<double>(i) / kWindow)));
    }
    constexpr double kHzPerBin = static_cast<double>(kMelSampleRateHz) / kWindow;
    const double step = mel_of_hz(kMelSampleRateHz / 2.0) / (kMelBands + 1);
    for (int64_t i = 0; i < kMelBands; ++i) {
      Band& band = bands[static_cast<size_t>(i)];
      const auto edge = static_cast<double>(i);
      const double left = hz_of_mel(edge * step), centre = hz_of_mel((edge + 1) * step),
                   right = hz_of_mel((edge + 2) * step);
      for (int64_t bin = 0; bin < kBins; ++bin) {
        const double hz = kHzPerBin * static_cast<double>(bin);
        const double height = std::min((hz - left) / (centre - left), (right - hz) / (right - centre));
        if (height <= 0) continue;
        if (band.weights.empty()) band.first_bin = bin;
        band.weights.push_back(
            static_cast<float>(height * 2 / (right - left)));  // every triangle's area is 1
      }
    }
  }
};

const Tables& tables() {
  static const Tables made;
  return made;
}

}  // namespace

MelFrontEnd::MelFrontEnd(const MelOptions& options) : options_(options) {}

// Sample `index` of a clip that is mirrored at both ends, without repeating the samples there. What lies
// further outside than the clip is long is silence, and so is what the clip has beyond the samples.
float MelFrontEnd::sample_at(int64_t index, int64_t clip_end) const {
  if (index < 0) {
    index = -index;
  } else if (index >= clip_end) {
    index = 2 * (clip_end - 1) - index;
  }
  if (index < 0 || index >= n_samples_) return 0;
  assert(index >= first_sample_);
  return samples_[static_cast<size_t>(index - first_sample_)];
}

// Appends raw frames first..last-1 of a clip of clip_end samples.
void MelFrontEnd::compute(int64_t first, int64_t last, int64_t clip_end, std::vector<float>& out) const {
  const Tables& table = tables();
  std::vector<float> windowed, power;
  for (; first < last; first += kBatch) {
    const int64_t n = std::min(kBatch, last - first);
    windowed.resize(static_cast<size_t>(n * kWindow));
    power.resize(static_cast<size_t>(n * kBins));
    auto at = windowed.begin();
    for (int64_t t = first; t < first + n; ++t) {
      for (int64_t i = 0; i < kWindow; ++i)
        *at++ = sample_at(kMelHop * t - kReach + i, clip_end) * table.window[static_cast<size_t>(i)];
    }
    table.fft.power(windowed, power);
    for (int64_t t = 0; t < n; ++t) {
      for (const Band& band : table.bands) {
        const float* const bins = power.data() + t * kBins + band.first_bin;
        float energy = 0;
        for (size_t i = 0; i < band.weights.size(); ++i) energy += band.weights[i] * bins[i];
        out.push_back(std::log10(std::max(energy, options_.floor)));
      }
    }
  }
}

void MelFrontEnd::push(std::span<const float> samples) {
  while (!samples.empty()) {
    // In pieces, so that a long clip is not copied as a whole.
    const auto piece = samples.first(std::min(samples.size(), static_cast<size_t>(kBatch * kMelHop)));
    samples = samples.subspan(piece.size());
    samples_.insert(samples_.end(), piece.begin(), piece.end());
    n_samples_ += static_cast<int64_t>(piece.size());
    if (n_samples_ < kReach) continue;

    const int64_t n_final = (n_samples_ - kReach) / kMelHop + 1;
    const size_t before = frames_.size();
    compute(n_final_, n_final, n_samples_, frames_);
    n_final_ = n_final;
    for (size_t i = before; i < frames_.size(); ++i) largest_ = std::max(largest_, frames_[i]);
    // The next frame begins here, and a clip that ended now would be mirrored no further back.
    const int64_t needed = std::max<int64_t>(kMelHop * n_final_ - kReach, 0);
    samples_.erase(samples_.begin(), samples_.begin() + (needed - first_sample_));
    first_sample_ = needed;
  }
}

std::span<const float> MelFrontEnd::frames(int64_t first, int64_t last) const {
  assert(first_frame_ <= first && first <= last && last <= n_final_);
  return std::span(frames_).subspan(static_cast<size_t>((first - first_frame_) * kMelBands),
                                    static_cast<size_t>((last - first) * kMelBands));
}

MelClip MelFrontEnd::finish() const {
  MelClip clip{.n_frames = 0, .first = n_final_, .tail = {}, .largest = largest_};
  if (n_samples_ == 0) return clip;
  const int64_t clip_end = options_.keeps_last_frame ? n_samples_ : std::max(n_samples_, kShortestClip);
  clip.n_frames = clip_end / kMelHop + (options_.keeps_last_frame ? 1 : 0);
  compute(clip.first, clip.n_frames, clip_end, clip.tail);
  for (const float value : clip.tail) clip.largest = std::max(clip.largest, value);
  return clip;
}

void MelFrontEnd::release_before(int64_t t) {
  assert(t <= n_final_);
  if (t <= first_frame_) return;
  frames_.erase(frames_.begin(), frames_.begin() + (t - first_frame_) * kMelBands);
  first_frame_ = t;
}

void normalise_mel(std::span<float> raw, float largest) {
  const float least = largest - 8;
  for (float& value : raw) value = (std::max(value, least) + 4) / 4;
}

}  // namespace parlance
