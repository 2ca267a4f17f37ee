// What speech is made of: one channel at 24 kHz, whose codec frames last 40 ms.
#pragma once

#include <cstdint>

namespace parlance {

inline constexpr int kSpeechRateHz = 24000;
inline constexpr int64_t kSpeechFrameSamples = 960;

constexpr int64_t speech_samples(int64_t ms) {
  return ms * kSpeechRateHz / 1000;
}

}  // namespace parlance
