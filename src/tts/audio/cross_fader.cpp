#include "tts/audio/cross_fader.h"

#include <algorithm>
#include <cassert>

#include "tts/audio/fades.h"

namespace parlance {

namespace {

constexpr int64_t kGapSamples = speech_samples(100);

}  // namespace

void CrossFader::push(std::span<const float> part, Emit emit) {
  if (part.empty()) return;
  std::vector<float> samples(part.begin(), part.end());
  if (n_samples_ > 0) {
    // A part that is shorter than the fade has only its end: what is before it is silence, and gone.
    std::vector<float> fading(static_cast<size_t>(std::min(kFadeSamples, n_samples_)));
    const auto n_held = static_cast<ptrdiff_t>(held_.size());
    std::ranges::copy(held_, fading.end() - n_held);
    fade_out(fading);
    emit(std::span(fading).last(held_.size()));
    const std::vector<float> gap(kGapSamples);
    emit(gap);
    n_samples_ += kGapSamples;
    fade_in(std::span(samples).first(std::min<size_t>(kFadeSamples, samples.size())));
  }
  held_.clear();
  hold_end(samples, emit);
}

void CrossFader::extend(std::span<const float> piece, Emit emit) {
  assert(piece.empty() || held_.size() == kFadeSamples);
  hold_end(piece, emit);
}

// Adds to the part and lets go of what cannot be its end.
void CrossFader::hold_end(std::span<const float> samples, Emit emit) {
  n_samples_ += static_cast<int64_t>(samples.size());
  held_.insert(held_.end(), samples.begin(), samples.end());
  const size_t n_sure = held_.size() - std::min<size_t>(kFadeSamples, held_.size());
  if (n_sure > 0) emit(std::span(held_).first(n_sure));
  held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(n_sure));
}

void CrossFader::finish(Emit emit) {
  if (!held_.empty()) emit(held_);
  held_.clear();
}

std::vector<float> join_parts(std::span<const std::vector<float>> parts) {
  std::vector<float> joined;
  const auto append = [&](std::span<const float> samples) {
    joined.insert(joined.end(), samples.begin(), samples.end());
  };
  CrossFader fader;
  for (const std::vector<float>& part : parts) fader.push(part, append);
  fader.finish(append);
  return joined;
}

}  // namespace parlance
