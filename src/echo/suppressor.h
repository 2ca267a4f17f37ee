// Makes what an echo filter leaves softer where it may be echo or noise, bin by bin, and says how much of it
// can be neither.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "audio/fft.h"
#include "echo/frame.h"

namespace parlance {

// A Wiener filter with the decision-directed estimate of Ephraim and Malah (1984). Frames overlap by half, so
// that what comes out is a frame late.
class Suppressor {
 public:
  Suppressor();

  // kEchoFrame samples of what was left, and the power of the echo that is expected in it, as of
  // EchoFilter::residual().
  void process(std::span<const float> left, std::span<const float> residual, std::span<float> out);

  // By how many dB the last frame is above what echo and noise explain, where it is: the mean of bands of 400
  // Hz.
  float excess_db() const { return excess_db_; }

 private:
  using Bins = std::array<float, kEchoBins>;

  void observe_noise(const Bins& power);

  RealFft fft_{2 * kEchoFrame};
  std::vector<float> window_, frame_, overlap_;  // of two frames each; overlap_ of one
  Bins re_, im_;
  Bins echo_{}, last_residual_{};  // power that is expected
  Bins smoothed_{}, noise_{};      // power of what is heard, and of the softest of it lately
  Bins kept_{};                    // of the frame before: signal by noise, after the filter
  int n_frames_ = 0;
  float excess_db_ = 0;
};

}  // namespace parlance
