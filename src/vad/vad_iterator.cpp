#include "vad/vad_iterator.h"

#include <algorithm>
#include <cmath>

namespace parlance {

namespace {

int64_t whole_number(double sample) {
  return static_cast<int64_t>(std::floor(sample));
}

}  // namespace

VadIterator::VadIterator(const VadIteratorOptions& options)
    : threshold_(options.threshold),
      min_silence_(options.min_silence_ms * kSileroSamplesPerMs),
      pad_(options.speech_pad_ms * kSileroSamplesPerMs) {}

std::optional<VadEvent> VadIterator::next(float probability) {
  n_samples_ += kSileroWindow;
  const auto p = static_cast<double>(probability);
  if (p >= threshold_) {
    silence_since_ = 0;
    if (is_speaking_) return std::nullopt;
    is_speaking_ = true;
    return VadEvent{VadEvent::Kind::start,
                    whole_number(std::max(0.0, static_cast<double>(n_samples_ - kSileroWindow) - pad_))};
  }
  if (p >= threshold_ - kVadHysteresis || !is_speaking_) return std::nullopt;
  if (silence_since_ == 0) silence_since_ = n_samples_;
  if (static_cast<double>(n_samples_ - silence_since_) < min_silence_) return std::nullopt;
  const int64_t end = whole_number(static_cast<double>(silence_since_ - kSileroWindow) + pad_);
  silence_since_ = 0;
  is_speaking_ = false;
  return VadEvent{VadEvent::Kind::end, end};
}

void VadIterator::reset() {
  n_samples_ = 0;
  silence_since_ = 0;
  is_speaking_ = false;
}

}  // namespace parlance
