// Where speech is in sound, without a recogniser.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "vad/silero.h"
#include "vad/speech_segments.h"

namespace parlance {

// Probabilities of speech in samples that come in pieces.
class SpeechTrack {
 public:
  explicit SpeechTrack(std::shared_ptr<const SileroModel> model) : vad_(std::move(model)) {}

  // Errors: cancelled, with part of them judged.
  Result<void> push(std::span<const float> samples, const Cancellation& cancellation = {});
  // Judges the last, shorter window.
  void finish();

  std::span<const float> probabilities() const { return probabilities_; }  // one per window
  int64_t n_samples() const { return n_samples_; }
  std::vector<SpeechSegment> segments(const SegmentOptions& options) const {
    return speech_segments(probabilities_, n_samples_, options);
  }

 private:
  SileroVad vad_;
  std::array<float, kSileroWindow> window_{};
  size_t n_filled_ = 0;
  int64_t n_samples_ = 0;
  std::vector<float> probabilities_;
};

}  // namespace parlance
