// Silence in speech: what counts as such, and taking out what is more than a pause.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tts/audio/speech_format.h"

namespace parlance {

// Whether 16-bit samples of which the squares have this sum are below -50 dB of the full scale. A window at
// exactly that is silent, a step is not quiet.
bool is_silent(int64_t sum_of_squares, int64_t n_samples);
bool is_quiet(int64_t sum_of_squares, int64_t n_samples);
int64_t sum_of_squares(std::span<const int16_t> samples);

// Loudness is looked at in steps of 10 ms.
inline constexpr int64_t kSilenceStep = speech_samples(10);

struct SilenceRule {
  int64_t mid_ms;    // windows of this length are silent or not; pauses keep as much at both ends
  int64_t lead_ms;   // what is kept before the first sound,
  int64_t trail_ms;  // and after the last
};
inline constexpr SilenceRule kSpeechSilence{.mid_ms = 500, .lead_ms = 100, .trail_ms = 100};
inline constexpr SilenceRule kReferenceSilence{.mid_ms = 200, .lead_ms = 100, .trail_ms = 200};

// 16-bit samples, cut off towards zero; what is no number is silence.
int16_t s16_of(float sample);

// Speech without long silences; nothing at all when there is no sound in it.
std::vector<int16_t> remove_silence(std::span<const int16_t> samples, const SilenceRule& rule);

// The same for floats, which come back with the precision of 16 bits.
std::vector<float> remove_silence(std::span<const float> samples, const SilenceRule& rule);

// How many samples before the first sound and after the last are quiet, counted in steps from that end.
int64_t quiet_start(std::span<const int16_t> samples);
int64_t quiet_end(std::span<const int16_t> samples);

}  // namespace parlance
