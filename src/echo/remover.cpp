#include "echo/remover.h"

#include <algorithm>
#include <cstdlib>

namespace parlance {

namespace {

constexpr int kLongestMs = 320;  // of what was played that is kept
// The canceller is given what was played a little before it is heard, so that it need not look ahead; and its
// filter is long enough for a delay that drifts, which is better than to begin anew.
constexpr int kEarlyMs = 20, kDriftMs = 15;
constexpr int kAudibleFrames = 60;  // the longest delay, and a room's sound
constexpr float kSilent = 1e-4f;    // samples of silence
constexpr int kSamplesPerMs = kEchoRateHz / 1000;

}  // namespace

void EchoRemover::process(std::span<const float> heard, std::span<const float> played,
                          std::span<float> left) {
  delay_.take(heard, played);
  if (const auto delay = delay_.ms()) {
    const int wanted = std::max(*delay - kEarlyMs, 0);
    if (std::abs(wanted - shift_ms_) > kDriftMs) {
      shift_ms_ = wanted;
      residual_.forget();
    }
  }
  if (played_.empty()) played_.resize(static_cast<size_t>(kLongestMs * kSamplesPerMs) + kEchoFrame);
  std::shift_left(played_.begin(), played_.end(), kEchoFrame);
  std::ranges::copy(played, played_.end() - kEchoFrame);
  const size_t from = played_.size() - kEchoFrame - static_cast<size_t>(shift_ms_ * kSamplesPerMs);
  canceller_->process(heard, std::span(played_).subspan(from, kEchoFrame), left);
  const bool sounds = std::ranges::any_of(played, [](float x) { return std::abs(x) > kSilent; });
  n_audible_ = sounds ? kAudibleFrames : std::max(n_audible_ - 1, 0);
  residual_.take(heard, n_audible_ > 0, left);
}

}  // namespace parlance
