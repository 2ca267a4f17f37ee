// Resampling by a Hann-windowed sinc of six zero crossings: the filter that the codec of the speech model was
// trained behind, so that it hears what it knows.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"

namespace parlance {

// ceil(samples * to_hz / from_hz) samples.
Result<std::vector<float>> resample_for_codec(std::span<const float> samples, int from_hz, int to_hz);

}  // namespace parlance
