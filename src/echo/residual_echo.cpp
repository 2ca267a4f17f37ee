#include "echo/residual_echo.h"

#include <algorithm>
#include <cmath>

namespace parlance {

namespace {

constexpr float kInaudible = 1e-3f;  // nothing can be learned from what is softer
constexpr float kVoice = 0.002f;  // what is left of a voice may be softer than one that nothing is taken from
constexpr float kNever = 10;      // no sound is as loud

float power_of(std::span<const float> samples) {
  float sum = 0;
  for (const float x : samples) sum += x * x;
  return sum / static_cast<float>(samples.size());
}

}  // namespace

// Found with bench/echo_rooms.
ResidualManner residual_manner_of(EchoLibrary library) {
  if (library == EchoLibrary::speex)
    return {.shrinks = 0.3f,
            .grows = 0.004f,
            .dies_away = 0.85f,
            .margin = 6,
            .recent = 0.04f,
            .least_share = 0.3f,
            .n_frames = 2};
  return {.shrinks = 0.04f,
          .grows = 0.008f,
          .dies_away = 0.85f,
          .margin = 5,
          .recent = 0.09f,
          .least_share = 0.02f,
          .n_frames = 1};
}

void ResidualEcho::take(std::span<const float> heard, bool is_audible, std::span<const float> left) {
  const float in = power_of(heard), out = power_of(left);
  heard_power_ += manner_.recent * (in - heard_power_);
  left_power_ += manner_.recent * (out - left_power_);
  loudest_ = std::max(std::sqrt(in), manner_.dies_away * loudest_);
  if (is_audible && in > kInaudible * kInaudible) {
    const float share = std::min(std::sqrt(out) / loudest_, 1.0f);
    share_ += (share < share_ ? manner_.shrinks : manner_.grows) * (share - share_);
  }
  const float expected = std::max(manner_.least_share, manner_.margin * manner_.margin * share_ * share_);
  const bool is_much = left_power_ > expected * heard_power_ && left_power_ > kVoice * kVoice;
  n_much_ = is_much ? std::min(n_much_ + 1, manner_.n_frames) : std::max(n_much_ - 1, 0);
  gate_ = !is_audible ? 0 : n_much_ == manner_.n_frames ? kVoice : kNever;
}

}  // namespace parlance
