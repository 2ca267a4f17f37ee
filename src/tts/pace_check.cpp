#include "tts/pace_check.h"

#include <algorithm>
#include <cmath>

#include "tts/audio/silence.h"

namespace parlance {

namespace {

constexpr int kLeastSyllables = 6;
constexpr double kMostRatio = 1.6;  // between a chunk's pace and the middle one of its neighbours
constexpr size_t kNeighbours = 3;
constexpr int64_t kHeardWindow = speech_samples(20);

}  // namespace

double heard_seconds(std::span<const float> samples) {
  std::vector<int16_t> window(static_cast<size_t>(kHeardWindow));
  int64_t n_heard = 0;
  for (; std::ssize(samples) >= kHeardWindow; samples = samples.subspan(window.size())) {
    std::ranges::transform(samples.first(window.size()), window.begin(), s16_of);
    if (!is_silent(sum_of_squares(window), kHeardWindow)) n_heard += kHeardWindow;
  }
  return static_cast<double>(n_heard) / kSpeechRateHz;
}

double PaceCheck::usual_pace() const {
  std::vector<double> near(paces_.end() - static_cast<ptrdiff_t>(std::min(paces_.size(), kNeighbours)),
                           paces_.end());
  std::ranges::sort(near);
  return near[near.size() / 2];
}

bool PaceCheck::is_off(int n_syllables, double seconds) const {
  if (paces_.empty() || n_syllables < kLeastSyllables) return false;
  const double usual = usual_pace(), pace = seconds / n_syllables;
  return pace > kMostRatio * usual || kMostRatio * pace < usual;
}

bool PaceCheck::is_nearer(int n_syllables, double seconds, double others) const {
  if (paces_.empty() || n_syllables == 0 || seconds <= 0) return false;
  const double usual = usual_pace();
  const auto distance = [&](double s) {
    return std::fabs(std::log(std::max(s, 1e-3) / n_syllables / usual));
  };
  return distance(seconds) < distance(others);
}

void PaceCheck::accept(int n_syllables, double seconds) {
  if (n_syllables >= kLeastSyllables && seconds > 0) paces_.push_back(seconds / n_syllables);
}

}  // namespace parlance
