// How well a voice detector's probabilities fit what was said: areas under curves, false alarms, delays.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "vad/silero_weights.h"

namespace parlance {

inline constexpr double kVadWindowMs = 1000.0 * kSileroWindow / kSileroSampleRateHz;

// Samples first..end-1 in which somebody speaks.
struct SpokenSpan {
  int64_t first, end;
};

// A recording that was judged. Windows beyond its end are padding of the last one.
struct JudgedRecording {
  std::vector<float> probabilities;  // of speech, one per window
  std::vector<SpokenSpan> speech;    // in the order of time, apart from each other
};

// Which windows are speech: those of which speech is at least half.
std::vector<bool> speech_windows(const JudgedRecording& recording);

// The area under the receiver's curve: how often a window of speech has a higher probability than one
// without, ties counting half. Pooled over recordings; not a number when there is only one kind of window.
double roc_auc(std::span<const JudgedRecording> recordings);

// What a threshold does. Spans nearer to each other than a third of a second are one turn.
struct ThresholdScores {
  int64_t n_speech = 0, n_detected = 0;     // windows of speech, and those at or above the threshold
  int64_t n_silent = 0, n_false = 0;        // windows without, and those at or above the threshold
  int64_t n_turns = 0, n_missed = 0;        // turns, and those with no window at or above the threshold
  int64_t n_alarms = 0;                     // runs of windows above it in recordings without speech
  double alarm_minutes = 0;                 // of recordings without speech
  std::vector<double> onset_ms, offset_ms;  // from a turn's start or end until a window has shown it

  double alarms_per_minute() const {
    return alarm_minutes > 0 ? static_cast<double>(n_alarms) / alarm_minutes : 0;
  }
};
ThresholdScores scores_at(std::span<const JudgedRecording> recordings, float threshold);

// The value that `share` of the values lie below; of none no number.
double quantile(std::vector<double> values, double share);

}  // namespace parlance
