#include "echo/echo_canceller.h"

#include <algorithm>
#include <cmath>

namespace parlance {

namespace {

// The filter is given what was played a little before it is heard: what is most alike may be what a wall
// throws back.
constexpr int kEarlyMs = 20, kDriftMs = 15;
constexpr int kMissedMs = 2;  // so much before the filter, and more than the delay is off
constexpr int kSamplesPerMs = kEchoRateHz / 1000;
constexpr double kLeastLag = EchoReference::kAhead, kMostLag = EchoReference::kMostLag;

constexpr float kPowersForget = 0.99f;  // powers by bin, a frame
constexpr size_t kNeighbours = 4;       // bins on each side whose powers are taken together
constexpr float kLeastPower = 1e-6f;

constexpr int kUnsureFrames = 50;     // in which another delay is believed in any case
constexpr int kSearchedFrames = 100;  // of sound: after that it is not heard at all, as with a headset

constexpr float kRecent = 0.02f;  // of powers, a frame: half a second
constexpr float kWorks = 0.25f;   // what a filter leaves that knows the room: its delay is right
constexpr int kMostTrust = 300;  // frames for which that holds when somebody speaks, if it has worked so long
constexpr float kHarms = 1.2f;   // and one that adds to what is heard: it knows another room

float power_of(std::span<const float> samples) {
  float sum = 0;
  for (const float x : samples) sum += x * x;
  return sum / static_cast<float>(samples.size());
}

}  // namespace

EchoCanceller::EchoCanceller()
    : heard_((kReplayed + 1) * kEchoFrame + kLate),
      last_played_(2 * kEchoFrame),
      heard_powers_(kEchoBins),
      played_powers_(kEchoBins),
      residual_(kEchoBins) {}

void EchoCanceller::restart() {
  delay_ = EchoDelay();
  drift_.doubt();
  n_known_ = n_searched_ = 0;
}

// The frame that was heard so many frames ago.
std::span<const float> EchoCanceller::heard_back(size_t n_back) const {
  return std::span(heard_).subspan((kReplayed - n_back) * kEchoFrame, kEchoFrame);
}

void EchoCanceller::observe_powers() {
  std::array<float, kEchoBins> now;
  const auto add = [&](std::span<const float> samples, std::vector<float>& powers) {
    fft_.power(samples.last(2 * kEchoFrame), now);
    for (size_t bin = 0; bin < kEchoBins; ++bin)
      powers[bin] = std::max(kPowersForget * powers[bin] + now[bin], kLeastPower);
  };
  add(heard_, heard_powers_);
  add(last_played_, played_powers_);
}

// More sound tells the delay better, but a filter that has worked for a while is not disturbed by what looks
// like another one, unless that is before all that it can learn: voices repeat themselves, so that it leaves
// little while they last, but is surprised by every beginning. Clocks that differ bring the echo nearer all
// the time: before it would be heard before it is played, half of what the filter begins early is given away.
void EchoCanceller::follow_delay() {
  const auto delay = delay_.ms();
  if (!delay) return;
  const auto lag_for = [&](int early_ms) {
    return static_cast<double>(kLate) + std::max(*delay - early_ms, 0) * kSamplesPerMs;
  };
  const double wanted = lag_for(kEarlyMs), nearer = lag_for(kEarlyMs / 2);
  const bool is_elsewhere =
      std::abs(wanted - lag_) > kDriftMs * kSamplesPerMs && (trust_ == 0 || n_known_ < kUnsureFrames);
  const bool is_before = lag_for(0) < lag_ - kMissedMs * kSamplesPerMs;
  if (n_known_ == 0 || is_elsewhere || is_before) {
    begin(wanted);
  } else if (lag_ < kLeastLag && nearer > kLate) {
    begin(nearer);
  }
  lag_ = std::clamp(lag_, kLeastLag, kMostLag);
}

// The filter learns the room anew, at once from what was heard lately.
void EchoCanceller::begin(double lag) {
  lag_ = lag;
  n_known_ = 0;
  trust_ = 0;
  taken_ = left_ = 0;
  std::array<float, kEchoBins> coupling;
  for (size_t bin = 0; bin < kEchoBins; ++bin) {
    float heard = 0, played = 0;
    for (size_t i = bin - std::min(bin, kNeighbours); i < std::min(bin + kNeighbours + 1, kEchoBins); ++i) {
      heard += heard_powers_[i];
      played += played_powers_[i];
    }
    coupling[bin] = heard / played;
  }
  filter_.begin(coupling);
  Frame left;
  for (size_t n_back = kReplayed; n_back > 0; --n_back) take_out(n_back, left);
}

void EchoCanceller::take_out(size_t n_back, std::span<float> left) {
  Frame played;
  const double growth = drift_.samples_per_frame();
  played_.read(n_back, lag_ - growth * static_cast<double>(n_back), growth, played);
  filter_.process(heard_back(n_back), played, left);
}

// As long as nothing is known, all of it may be echo.
void EchoCanceller::suspect(std::span<const float> frame) {
  std::array<float, 2 * kEchoFrame> padded{};
  if (n_searched_ < kSearchedFrames) std::ranges::copy(frame, padded.begin() + kEchoFrame);
  fft_.power(padded, residual_);
}

void EchoCanceller::process(std::span<const float> heard, std::span<const float> played,
                            std::span<float> left) {
  std::shift_left(heard_.begin(), heard_.end(), kEchoFrame);
  std::ranges::copy(heard, heard_.end() - kEchoFrame);
  std::shift_left(last_played_.begin(), last_played_.end(), kEchoFrame);
  std::ranges::copy(played, last_played_.end() - kEchoFrame);
  played_.push(played);
  delay_.take(heard, played);
  observe_powers();
  follow_delay();

  const std::span<const float> frame = heard_back(0);
  if (!delay_.ms()) {
    n_searched_ += std::ranges::any_of(played, [](float x) { return std::abs(x) > kEchoSilence; });
    suspect(frame);
    std::ranges::copy(frame, left.begin());
    return;
  }
  lag_ += drift_.take(filter_.misalignment());
  take_out(0, left);
  lag_ += drift_.samples_per_frame();
  std::ranges::copy(filter_.residual(), residual_.begin());
  ++n_known_;
  taken_ += kRecent * (power_of(frame) - taken_);
  left_ += kRecent * (power_of(left) - left_);
  if (filter_.is_active()) trust_ = std::clamp(trust_ + (left_ < kWorks * taken_ ? 1 : -1), 0, kMostTrust);
  if (n_known_ > kUnsureFrames && left_ > kHarms * taken_ + kLeastPower) restart();
}

}  // namespace parlance
