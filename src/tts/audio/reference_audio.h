// A recording whose voice is to be spoken with, as the codec is given it.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"

namespace parlance {

struct ReferenceAudio {
  std::vector<float> samples;  // 24 kHz, whole frames
  float rms = 0;               // of the recording as it was: what is spoken gets its loudness
};

// Raises a quiet recording, takes silences out where `removes_silence`, and cuts it to whole frames. Fails
// when nothing is left.
Result<ReferenceAudio> prepare_reference(std::span<const float> samples, bool removes_silence);

}  // namespace parlance
