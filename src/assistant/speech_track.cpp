#include "assistant/speech_track.h"

#include <algorithm>

namespace parlance {

Result<void> SpeechTrack::push(std::span<const float> samples, const Cancellation& cancellation) {
  n_samples_ += std::ssize(samples);
  while (!samples.empty()) {
    const size_t n = std::min(samples.size(), window_.size() - n_filled_);
    std::copy_n(samples.begin(), n, window_.begin() + static_cast<std::ptrdiff_t>(n_filled_));
    samples = samples.subspan(n);
    n_filled_ += n;
    if (n_filled_ < window_.size()) break;
    if (cancellation.cancelled()) return fail(ErrorCode::cancelled, "cancelled");
    probabilities_.push_back(vad_.process(window_));
    n_filled_ = 0;
  }
  return {};
}

void SpeechTrack::finish() {
  if (n_filled_ == 0) return;
  std::fill(window_.begin() + static_cast<std::ptrdiff_t>(n_filled_), window_.end(), 0.0f);
  probabilities_.push_back(vad_.process(window_));
  n_filled_ = 0;
}

}  // namespace parlance
