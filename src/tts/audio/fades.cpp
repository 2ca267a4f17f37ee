#include "tts/audio/fades.h"

#include <algorithm>

namespace parlance {

namespace {

const std::vector<float> kPad(kPadSamples);

// How loud sample i of n is in a fade.
float ramp(size_t i, size_t n) {
  return static_cast<float>(i) / static_cast<float>(std::max<size_t>(n - 1, 1));
}

// Both ends of speech that is known as a whole.
void fade_ends(std::span<float> samples) {
  const size_t n = std::min<size_t>(kFadeSamples, samples.size() / 2);
  fade_in(samples.first(n));
  fade_out(samples.last(n));
}

}  // namespace

void fade_in(std::span<float> samples) {
  for (size_t i = 0; i < samples.size(); ++i) samples[i] *= ramp(i, samples.size());
}

void fade_out(std::span<float> samples) {
  for (size_t i = 0; i < samples.size(); ++i) samples[i] *= 1 - ramp(i, samples.size());
}

std::vector<float> fade_and_pad(std::vector<float> samples) {
  fade_ends(samples);
  samples.insert(samples.begin(), kPad.begin(), kPad.end());
  samples.insert(samples.end(), kPad.begin(), kPad.end());
  return samples;
}

// The first sound, with the silence that was kept for it.
void PadStream::emit_first(size_t n_samples, Emit emit) {
  if (leading_silence_ == LeadingSilence::with_first_sound) {
    held_.insert(held_.begin(), kPad.begin(), kPad.end());
    n_samples += kPad.size();
  }
  emit(std::span(held_).first(n_samples));
  held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(n_samples));
}

void PadStream::push(std::span<const float> samples, Emit emit) {
  if (samples.empty()) return;
  if (!has_begun_ && leading_silence_ == LeadingSilence::at_once) emit(kPad);
  has_begun_ = true;
  held_.insert(held_.end(), samples.begin(), samples.end());
  if (!has_sent_head_ && held_.size() >= kFadeSamples) {
    fade_in(std::span(held_).first(kFadeSamples));
    emit_first(kFadeSamples, emit);
    has_sent_head_ = true;
  }
  if (!has_sent_head_ || held_.size() <= kFadeSamples) return;
  const size_t n_sure = held_.size() - kFadeSamples;  // the rest may be the end
  emit(std::span(held_).first(n_sure));
  held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(n_sure));
}

void PadStream::finish(Emit emit) {
  if (!has_begun_) return;
  if (!has_sent_head_) {
    fade_ends(held_);
    emit_first(held_.size(), emit);
  } else if (!held_.empty()) {
    fade_out(held_);
    emit(held_);
  }
  emit(kPad);
}

}  // namespace parlance
