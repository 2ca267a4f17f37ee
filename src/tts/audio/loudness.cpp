#include "tts/audio/loudness.h"

#include <algorithm>
#include <cmath>

namespace parlance {

float rms_of(std::span<const float> samples) {
  if (samples.empty()) return 0;
  double sum = 0;
  for (const float sample : samples) sum += static_cast<double>(sample) * static_cast<double>(sample);
  return static_cast<float>(std::sqrt(sum / static_cast<double>(samples.size())));
}

float reference_gain(std::optional<float> reference_rms) {
  return reference_rms && *reference_rms < kReferenceRms ? *reference_rms / kReferenceRms : 1;
}

void normalise_peak(std::span<float> samples) {
  constexpr float kWanted = 0.5f, kInaudible = 1e-6f;
  float peak = 0;
  for (const float sample : samples) peak = std::max(peak, std::fabs(sample));
  if (peak <= kInaudible) return;
  for (float& sample : samples) sample *= kWanted / peak;
}

}  // namespace parlance
