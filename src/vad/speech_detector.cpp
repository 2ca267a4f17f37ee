#include "vad/speech_detector.h"

#include <algorithm>
#include <cmath>

namespace parlance {

namespace {

float root_mean_square(std::span<const float> samples) {
  double sum = 0;
  for (const float x : samples) sum += static_cast<double>(x) * static_cast<double>(x);
  return static_cast<float>(std::sqrt(sum / static_cast<double>(samples.size())));
}

}  // namespace

SpeechDetector::SpeechDetector(std::shared_ptr<const SileroModel> model, const TurnOptions& options, Isa isa)
    : vad_(std::move(model), isa), options_(options), turns_(options), pre_roll_(options.pre_roll_windows) {}

void SpeechDetector::feed(std::span<const float> samples, OnEvent on_event, OnAudio on_audio) {
  while (!samples.empty()) {
    const size_t n = std::min(samples.size(), static_cast<size_t>(kSileroWindow - n_filled_));
    std::transform(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(n),
                   window_.begin() + n_filled_, [](float x) { return std::isfinite(x) ? x : 0.0f; });
    samples = samples.subspan(n);
    n_filled_ += static_cast<int64_t>(n);
    if (n_filled_ == kSileroWindow) take_window(kSileroWindow, on_event, on_audio);
  }
}

// Judges the window, of which the first n_samples were heard.
void SpeechDetector::take_window(int64_t n_samples, OnEvent on_event, OnAudio on_audio) {
  const bool was_idle = turns_.phase() == TurnPhase::idle;
  static constexpr std::array<float, kSileroWindow> kSilence{};
  probability_ = vad_.process(was_idle && is_shut_ ? kSilence : window_);
  const std::optional<TurnEvent> event = turns_.next(probability_, root_mean_square(window_), n_samples);
  const auto heard = std::span(window_).first(static_cast<size_t>(n_samples));
  if (was_idle && event) {
    on_event(*event);
    int64_t position = position_ - pre_roll_.n_windows() * kSileroWindow;
    pre_roll_.take([&](std::span<const float> samples) {
      on_audio(samples, position);
      position += kSileroWindow;
    });
    on_audio(heard, position_);
  } else if (was_idle) {
    pre_roll_.push(window_);
  } else {
    on_audio(heard, position_);
    if (event) on_event(*event);
    // What the model has heard would colour the next segment.
    if (turns_.phase() == TurnPhase::idle) vad_.reset();
  }
  position_ += kSileroWindow;
  n_filled_ = 0;
}

void SpeechDetector::flush(OnEvent on_event, OnAudio on_audio) {
  if (n_filled_ > 0) {
    std::fill(window_.begin() + n_filled_, window_.end(), 0.0f);
    take_window(n_filled_, on_event, on_audio);
  }
  if (const std::optional<TurnEvent> event = turns_.flush()) on_event(*event);
  reset();
}

void SpeechDetector::reset() {
  vad_.reset();
  turns_ = TurnDetector(options_);
  pre_roll_.clear();
  n_filled_ = 0;
  position_ = 0;
  probability_ = 0;
}

}  // namespace parlance
