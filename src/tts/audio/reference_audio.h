// A recording whose voice is to be spoken with, as the codec is given it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace parlance {

struct ReferenceAudio {
  std::vector<float> samples;  // 24 kHz, whole frames
  float rms = 0;               // of the recording as it was: what is spoken gets its loudness
};

struct ReferencePreparation {
  bool removes_silence = true;
  // Speech that breaks off at its end makes what is spoken begin with its rest, and short texts break: at
  // least this much quiet is behind it. 0: whatever it has.
  int64_t quiet_ms = 0;
};
inline constexpr int64_t kQuietBehindReferenceMs = 240;

// Raises a quiet recording, takes silences out, puts quiet behind it, and cuts it to whole frames. Fails when
// nothing is left.
Result<ReferenceAudio> prepare_reference(std::span<const float> samples,
                                         const ReferencePreparation& preparation = {});

}  // namespace parlance
