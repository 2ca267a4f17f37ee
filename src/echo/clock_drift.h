// By how much a loudspeaker's clock and a microphone's differ. Sound cards are up to some hundred ppm apart:
// a few samples in a second, more than an adaptive filter can follow in high tones.
#pragma once

#include "echo/echo_filter.h"

namespace parlance {

// A Kalman filter of two states, how late the echo is and how fast that grows, by what an EchoFilter finds.
class ClockDrift {
 public:
  // Takes a frame's finding in. Yields by how many samples the echo is later than it was taken to be; whoever
  // asks corrects for that.
  double take(const EchoFilter::Misalignment& found);

  double samples_per_frame() const { return drift_; }

  // What was found may have been something else.
  void doubt() { uncertainty_ = {}; }

 private:
  // Variances: of how late the echo is, of the drift (100 ppm at first), and of both together.
  struct Uncertainty {
    double late = 0.1, drift = 2.56e-4, both = 0;
  };

  double drift_ = 0;
  Uncertainty uncertainty_;
};

}  // namespace parlance
