// Takes what a loudspeaker plays out of what a microphone beside it hears, with no idea of the room, of how
// late the one hears the other, or of how their clocks differ.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "echo/clock_drift.h"
#include "echo/echo_delay.h"
#include "echo/echo_filter.h"
#include "echo/echo_reference.h"

namespace parlance {

class EchoCanceller {
 public:
  EchoCanceller();

  // kEchoFrame samples each, between -1 and 1: what was heard, what was played at that time or up to 300 ms
  // before it is heard, and what is left of the first, 2 ms later.
  void process(std::span<const float> heard, std::span<const float> played, std::span<float> left);

  // What was played and not known in time, `n_ago` samples ago.
  void amend(std::span<const float> samples, size_t n_ago) { played_.amend(samples, n_ago); }

  // Power of the echo that may be in what was left, [kEchoBins], as EchoFilter::residual(); all of what was
  // heard while nothing is known.
  std::span<const float> residual() const { return residual_; }

  // Frames since it began to learn the room; 0: how late the loudspeaker is heard is not known.
  int n_known() const { return n_known_; }
  // Between playing and hearing; none while that is not known.
  std::optional<int> delay_ms() const { return delay_.ms(); }

  // How late the loudspeaker is heard has to be found again.
  void restart();

 private:
  using Frame = std::array<float, kEchoFrame>;
  static constexpr size_t kReplayed = 40;  // frames that teach at once when the delay is found
  // What is heard is worked on so much later, for interpolation to look ahead and for lags that are found to
  // be a little less than they were taken for.
  static constexpr size_t kLate = 2 * EchoReference::kAhead;

  void observe_powers();
  void follow_delay();
  void begin(double lag);
  void take_out(size_t n_back, std::span<float> left);
  void suspect(std::span<const float> frame);
  std::span<const float> heard_back(size_t n_back) const;

  EchoDelay delay_;
  ClockDrift drift_;
  EchoFilter filter_;
  EchoReference played_{kReplayed};
  std::vector<float> heard_;  // lately, the newest last
  std::vector<float> last_played_;
  RealFft fft_{2 * kEchoFrame};
  std::vector<float> heard_powers_, played_powers_;  // by bin, of a second or so
  std::vector<float> residual_;

  double lag_ = kLate;                // samples by which what was played is given to the filter later
  int n_known_ = 0, n_searched_ = 0;  // frames; the latter of sound, while it is not known
  float taken_ = 0, left_ = 0;        // power of what the filter is given and leaves, of late
  int trust_ = 0;                     // frames in which it has left little, less those in which it has not
};

}  // namespace parlance
