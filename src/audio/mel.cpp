#include "audio/mel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
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

constexpr size_t kLogsAtOnce = 4;
typedef float Floats __attribute__((vector_size(kLogsAtOnce * sizeof(float))));
typedef int32_t Ints __attribute__((vector_size(kLogsAtOnce * sizeof(int32_t))));

// log10 of positive normal numbers, off by no more than the last bits: x is 2^e m, where m is from sqrt(1/2)
// on, and log m = 2 artanh(s) of s = (m - 1) / (m + 1), which is at most 0.172. What is not finite stays so.
Floats log10_of(Floats x) {
  constexpr auto kRootHalf = std::bit_cast<int32_t>(0.70710678f);
  constexpr auto kLog10Of2 = static_cast<float>(std::numbers::ln2 / std::numbers::ln10);
  constexpr auto kScale = static_cast<float>(2 / std::numbers::ln10);
  const Ints bits = std::bit_cast<Ints>(x);
  const Ints exponent = (bits - kRootHalf) >> 23;
  const Floats m = std::bit_cast<Floats>(bits - (exponent << 23));
  const Floats s = (m - 1) / (m + 1), square = s * s;
  const Floats tail = square * (1.0f / 3 + square * (1.0f / 5 + square * (1.0f / 7 + square * (1.0f / 9))));
  const Floats log = __builtin_convertvector(exponent, Floats) * kLog10Of2 + kScale * (s + s * tail);
  return x <= std::numeric_limits<float>::max() ? log : x;
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
  std::array<float, kBatch> energies;
  auto at = out.size();
  out.resize(at + static_cast<size_t>(std::max<int64_t>(last - first, 0) * kMelBands));
  for (; first < last; first += kBatch) {
    const int64_t n = std::min(kBatch, last - first);
    windowed.resize(static_cast<size_t>(n * kWindow));
    power.resize(static_cast<size_t>(n * kBins));
    float* to = windowed.data();
    for (int64_t t = first; t < first + n; ++t, to += kWindow) {
      const int64_t begin = kMelHop * t - kReach;
      if (begin >= first_sample_ && begin + kWindow <= std::min(clip_end, n_samples_)) {
        const float* const from = samples_.data() + (begin - first_sample_);
        for (size_t i = 0; i < kWindow; ++i) to[i] = from[i] * table.window[i];
      } else {
        for (int64_t i = 0; i < kWindow; ++i)
          to[i] = sample_at(begin + i, clip_end) * table.window[static_cast<size_t>(i)];
      }
    }
    table.fft.power(windowed, power);
    for (size_t b = 0; b < table.bands.size(); ++b) {
      // Frames side by side, whose sums do not wait for each other.
      const Band& band = table.bands[b];
      energies.fill(0);
      for (size_t i = 0; i < band.weights.size(); ++i) {
        const float* const bins = power.data() + band.first_bin + static_cast<int64_t>(i);
        for (int64_t t = 0; t < n; ++t) energies[static_cast<size_t>(t)] += band.weights[i] * bins[t * kBins];
      }
      for (int64_t t = 0; t < n; ++t)
        out[at + static_cast<size_t>(t * kMelBands) + b] =
            std::max(energies[static_cast<size_t>(t)], options_.floor);
    }
    static_assert(kMelBands % kLogsAtOnce == 0);
    for (const size_t end = at + static_cast<size_t>(n * kMelBands); at < end; at += kLogsAtOnce) {
      Floats energy;
      std::memcpy(&energy, &out[at], sizeof energy);
      energy = log10_of(energy);
      std::memcpy(&out[at], &energy, sizeof energy);
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
