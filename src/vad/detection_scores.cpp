#include "vad/detection_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace parlance {

namespace {

constexpr int64_t kShortestGap = kSileroSampleRateHz / 3;  // between turns

std::vector<SpokenSpan> turns_of(std::span<const SpokenSpan> speech) {
  std::vector<SpokenSpan> turns;
  for (const SpokenSpan& span : speech) {
    if (!turns.empty() && span.first - turns.back().end < kShortestGap) {
      turns.back().end = span.end;
    } else {
      turns.push_back(span);
    }
  }
  return turns;
}

double ms_of(int64_t n_samples) {
  return 1000.0 * static_cast<double>(n_samples) / kSileroSampleRateHz;
}

void add_turns(const JudgedRecording& recording, float threshold, ThresholdScores& scores) {
  const auto n_windows = std::ssize(recording.probabilities);
  const auto is_above = [&](int64_t w) {
    return recording.probabilities[static_cast<size_t>(w)] >= threshold;
  };
  const std::vector<SpokenSpan> turns = turns_of(recording.speech);
  for (size_t i = 0; i < turns.size(); ++i) {
    const SpokenSpan& turn = turns[i];
    ++scores.n_turns;
    int64_t w = turn.first / kSileroWindow;
    while (w < n_windows && w * kSileroWindow < turn.end && !is_above(w)) ++w;
    if (w == n_windows || w * kSileroWindow >= turn.end) {
      ++scores.n_missed;
      continue;
    }
    scores.onset_ms.push_back(ms_of((w + 1) * kSileroWindow - turn.first));
    // The first window that begins after the turn and is below; none before the next turn is no end.
    const int64_t limit = i + 1 < turns.size() ? turns[i + 1].first / kSileroWindow : n_windows;
    for (w = (turn.end + kSileroWindow - 1) / kSileroWindow; w < limit && is_above(w);) ++w;
    if (w < limit) scores.offset_ms.push_back(ms_of((w + 1) * kSileroWindow - turn.end));
  }
}

}  // namespace

std::vector<bool> speech_windows(const JudgedRecording& recording) {
  std::vector<int64_t> spoken(recording.probabilities.size());  // samples
  const auto n_windows = std::ssize(spoken);
  for (const SpokenSpan& span : recording.speech) {
    for (int64_t w = span.first / kSileroWindow; w < n_windows && w * kSileroWindow < span.end; ++w) {
      spoken[static_cast<size_t>(w)] +=
          std::min(span.end, (w + 1) * kSileroWindow) - std::max(span.first, w * kSileroWindow);
    }
  }
  std::vector<bool> is_speech(spoken.size());
  for (size_t w = 0; w < spoken.size(); ++w) is_speech[w] = 2 * spoken[w] >= kSileroWindow;
  return is_speech;
}

double roc_auc(std::span<const JudgedRecording> recordings) {
  struct Window {
    float probability;
    bool is_speech;
  };
  std::vector<Window> windows;
  for (const JudgedRecording& recording : recordings) {
    const std::vector<bool> is_speech = speech_windows(recording);
    for (size_t w = 0; w < is_speech.size(); ++w)
      windows.push_back({recording.probabilities[w], is_speech[w]});
  }
  std::sort(windows.begin(), windows.end(),
            [](const Window& a, const Window& b) { return a.probability < b.probability; });
  // Pairs of a window of speech above one without; equal ones count half.
  double pairs = 0, n_speech = 0, n_silent = 0;
  for (size_t first = 0, last = 0; first < windows.size(); first = last) {
    double speech = 0, silent = 0;
    for (; last < windows.size() && windows[last].probability == windows[first].probability; ++last)
      (windows[last].is_speech ? speech : silent) += 1;
    pairs += speech * (n_silent + silent / 2);
    n_speech += speech;
    n_silent += silent;
  }
  if (n_speech == 0 || n_silent == 0) return std::numeric_limits<double>::quiet_NaN();
  return pairs / (n_speech * n_silent);
}

ThresholdScores scores_at(std::span<const JudgedRecording> recordings, float threshold) {
  ThresholdScores scores;
  for (const JudgedRecording& recording : recordings) {
    const std::vector<bool> is_speech = speech_windows(recording);
    bool was_above = false;
    for (size_t w = 0; w < is_speech.size(); ++w) {
      const bool is_above = recording.probabilities[w] >= threshold;
      ++(is_speech[w] ? scores.n_speech : scores.n_silent);
      if (is_above) ++(is_speech[w] ? scores.n_detected : scores.n_false);
      if (recording.speech.empty() && is_above && !was_above) ++scores.n_alarms;
      was_above = is_above;
    }
    if (recording.speech.empty())
      scores.alarm_minutes += static_cast<double>(is_speech.size()) * kVadWindowMs / 60000;
    add_turns(recording, threshold, scores);
  }
  return scores;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace parlance
