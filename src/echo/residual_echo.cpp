#include "echo/residual_echo.h"

#include <algorithm>
#include <cmath>

namespace parlance {

namespace {

// All per frame of 10 ms, and found with bench/echo_rooms.
// What is left shrinks as the canceller learns; somebody who speaks seems to make it grow, and must not raise
// the bar before he is heard.
constexpr float kShrinks = 0.08f, kGrows = 0.004f;
constexpr float kDiesAway =
    0.96f;                        // of the loudest that was heard lately, which a room goes on sounding with
constexpr float kMargin = 4;      // 12 dB above what is expected to be left
constexpr float kRecent = 0.18f;  // of powers: over some 50 ms, longer than what an onset leaves
constexpr float kLeastShare = 0.05f;  // of the power, which an onset can leave in a room that is well known
constexpr float kInaudible = 1e-3f;   // nothing can be learned from what is softer
constexpr float kVoice = 0.004f;  // what is left of a voice may be softer than one that nothing is taken from
constexpr float kNever = 10;      // no sound is as loud

float power_of(std::span<const float> samples) {
  float sum = 0;
  for (const float x : samples) sum += x * x;
  return sum / static_cast<float>(samples.size());
}

}  // namespace

void ResidualEcho::take(std::span<const float> heard, bool is_audible, std::span<const float> left) {
  const float in = power_of(heard), out = power_of(left);
  heard_power_ += kRecent * (in - heard_power_);
  left_power_ += kRecent * (out - left_power_);
  loudest_ = std::max(std::sqrt(in), kDiesAway * loudest_);
  if (is_audible && in > kInaudible * kInaudible) {
    const float share = std::min(std::sqrt(out) / loudest_, 1.0f);
    share_ += (share < share_ ? kShrinks : kGrows) * (share - share_);
  }
  const float expected = std::max(kLeastShare, kMargin * kMargin * share_ * share_);
  const bool is_voice = left_power_ > expected * heard_power_ && left_power_ > kVoice * kVoice;
  gate_ = !is_audible ? 0 : is_voice ? kVoice : kNever;
}

}  // namespace parlance
