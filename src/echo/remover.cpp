#include "echo/remover.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace parlance {

namespace {

constexpr int kAudibleFrames = 60;     // the longest delay, and a room's sound
constexpr float kExcessRecent = 0.2f;  // of the excess, a frame
// From which on it is a voice's; so much more when the room is new, less and less for two seconds; and never
// at first, since the delay that was found may be wrong. Found with bench/echo_rooms.
constexpr float kVoiceDb = 5, kNewRoomDb = 2;
constexpr int kNewFrames = 200, kUnjudgedFrames = 20;
constexpr float kVoice = 0.002f;  // what is left of a voice may be softer than one that nothing is taken from
constexpr float kNever = 10;      // no sound is as loud

using Frame = std::array<float, kEchoFrame>;

float cleaned(float x) {
  return std::isnan(x) ? 0 : std::clamp(x, -1.0f, 1.0f);
}

}  // namespace

void EchoRemover::amend(std::span<const float> samples, size_t n_ago) {
  std::vector<float> clean(samples.size());
  std::ranges::transform(samples, clean.begin(), cleaned);
  canceller_.amend(clean, n_ago);
}

void EchoRemover::process(std::span<const float> heard, std::span<const float> played,
                          std::span<float> left) {
  Frame is_heard, is_played, rest;
  std::ranges::transform(heard, is_heard.begin(), cleaned);
  std::ranges::transform(played, is_played.begin(), cleaned);
  canceller_.process(is_heard, is_played, rest);
  const bool sounds = std::ranges::any_of(is_played, [](float x) { return std::abs(x) > kEchoSilence; });
  n_audible_ = sounds ? kAudibleFrames : std::max(n_audible_ - 1, 0);
  static constexpr std::array<float, kEchoBins> kNothing{};
  suppressor_.process(rest, n_audible_ > 0 ? canceller_.residual() : kNothing, left);
  const int n_known = canceller_.n_known();
  excess_db_ =
      n_known > kUnjudgedFrames ? excess_db_ + kExcessRecent * (suppressor_.excess_db() - excess_db_) : 0;
  const float newness =
      1 - static_cast<float>(std::min(n_known, kNewFrames)) / static_cast<float>(kNewFrames);
  const bool is_voice = excess_db_ > kVoiceDb + newness * kNewRoomDb;
  gate_ = n_audible_ == 0 ? 0 : is_voice ? kVoice : kNever;
}

}  // namespace parlance
