// What was played lately, to be read as late as it is heard: between samples, and at another clock's rate.
#pragma once

#include <span>
#include <vector>

#include "echo/frame.h"

namespace parlance {

class EchoReference {
 public:
  // Samples that interpolation looks ahead: the least lag.
  static constexpr size_t kAhead = 16;
  static constexpr size_t kMostLag = kEchoRateHz / 2;

  // `n_frames_back`: how far back read() can begin.
  explicit EchoReference(size_t n_frames_back);

  void push(std::span<const float> frame);
  // In place of what was pushed `n_ago` samples ago.
  void amend(std::span<const float> samples, size_t n_ago);

  // The frame that was pushed `n_back` frames ago, delayed by `lag` samples (kAhead to kMostLag) at its
  // beginning and by `growth` more at its end.
  void read(size_t n_back, double lag, double growth, std::span<float> out) const;

 private:
  std::vector<float> past_;
  std::vector<float> kernels_;  // [kShifts + 1, 2 kAhead]: sinc in a window, by the part of a sample
};

}  // namespace parlance
