// The discrete Fourier transform of real frames, several side by side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace parlance {

// A plan for frames of n samples, where n is a product of 2s, 3s and 5s and even (400 and 256 are what is
// used). Frames are independent of each other: what one yields does not depend on its neighbours, bit for bit.
class RealFft {
 public:
  explicit RealFft(int64_t n);

  int64_t n() const { return n_; }
  int64_t n_bins() const { return n_ / 2 + 1; }

  // frames [n, n_frames] -> power [n_bins, n_frames]: squared magnitudes, not scaled.
  void power(std::span<const float> frames, std::span<float> power) const;

 private:
  int64_t n_;
};

}  // namespace parlance
