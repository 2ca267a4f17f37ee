#include "tts/audio/silence_stream.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <numeric>

namespace parlance {

SilenceStream::SilenceStream(const SilenceRule& rule)
    : window_(speech_samples(rule.mid_ms)),
      lead_(speech_samples(rule.lead_ms)),
      trail_(speech_samples(rule.trail_ms)) {
  assert(window_ % kSilenceStep == 0 && lead_ % kSilenceStep == 0);  // windows are made of whole steps
}

bool SilenceStream::is_window_silent(int64_t begin) const {
  const auto first = step_energies_.begin() + begin / kSilenceStep;
  return is_silent(std::accumulate(first, first + window_ / kSilenceStep, int64_t{0}), window_);
}

void SilenceStream::begin_at(int64_t sound) {
  has_sound_ = true;
  scan_ = std::max<int64_t>(sound - lead_, 0);
  drop_until(scan_);
}

void SilenceStream::drop_until(int64_t position) {
  if (position <= sent_) return;
  held_.erase(held_.begin(), held_.begin() + (position - sent_));
  held_s16_.erase(held_s16_.begin(), held_s16_.begin() + (position - sent_));
  sent_ = position;
}

void SilenceStream::emit_until(int64_t position, Emit emit) {
  if (position <= sent_) return;
  emit(std::span(held_).first(static_cast<size_t>(position - sent_)));
  drop_until(position);
}

// A pause keeps a window's length at both ends; of a shorter one nothing is left out.
void SilenceStream::end_pause(Emit emit) {
  const int64_t begin = *pause_, end = last_silent_window_ + window_;
  pause_.reset();
  if (end - begin < 2 * window_) {
    emit_until((begin + end) / 2, emit);
  } else {
    emit_until(begin + window_, emit);
    drop_until(end - window_);
  }
}

void SilenceStream::push(std::span<const float> samples, Emit emit) {
  held_.insert(held_.end(), samples.begin(), samples.end());
  std::ranges::transform(samples, std::back_inserter(held_s16_), s16_of);
  received_ += static_cast<int64_t>(samples.size());
  for (auto step = static_cast<int64_t>(step_energies_.size()); (step + 1) * kSilenceStep <= received_;
       ++step) {
    const auto first = static_cast<size_t>(step * kSilenceStep - sent_);
    step_energies_.push_back(sum_of_squares(std::span(held_s16_).subspan(first, kSilenceStep)));
    if (!has_sound_ && !is_quiet(step_energies_.back(), kSilenceStep)) begin_at(step * kSilenceStep);
  }
  if (!has_sound_) return;
  for (; scan_ + window_ <= received_; scan_ += kSilenceStep) {
    if (is_window_silent(scan_)) {
      if (!pause_) pause_ = scan_;
      last_silent_window_ = scan_;
    } else if (pause_) {
      end_pause(emit);
    }
  }
  if (!pause_) emit_until(scan_, emit);
}

void SilenceStream::finish(Emit emit) {
  // The first sound may be in the last step, which is not whole.
  const int64_t n_last = received_ % kSilenceStep;
  if (!has_sound_ && n_last > 0) {
    const auto last = std::span(held_s16_).last(static_cast<size_t>(n_last));
    if (!is_quiet(sum_of_squares(last), n_last)) begin_at(received_ - n_last);
  }
  const int64_t end = pause_ ? *pause_ + window_ : received_;
  const auto rest = std::span(held_s16_).first(static_cast<size_t>(end - sent_));
  const int64_t too_late = std::max<int64_t>(quiet_end(rest) - trail_, 0);
  emit_until(end - too_late, emit);
}

}  // namespace parlance
