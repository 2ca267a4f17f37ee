// What the rooms around a loudspeaker and a microphone work on at once.
#pragma once

#include <cstddef>

namespace parlance {

inline constexpr int kEchoRateHz = 16000;
inline constexpr size_t kEchoFrame = kEchoRateHz / 100;  // samples: 10 ms
// Of the spectrum of two frames.
inline constexpr size_t kEchoBins = kEchoFrame + 1;
inline constexpr float kEchoSilence = 1e-4f;  // samples that are no louder are not heard

}  // namespace parlance
