// Resampling by a Hann-windowed sinc of six zero crossings: the filter that the codec of the speech model was
// trained behind, so that it hears what it knows.
#pragma once

#include <span>
#include <vector>

namespace parlance {

// ceil(samples * to_hz / from_hz) samples. Both rates are ones that check_sample_rate() has passed.
std::vector<float> sinc_resample(std::span<const float> samples, int from_hz, int to_hz);

}  // namespace parlance
