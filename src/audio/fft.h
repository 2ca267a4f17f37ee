// The discrete Fourier transform of real frames, several side by side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace parlance {

// A plan for frames of n samples, where n is even, at most 1024, and a product of 2s, 3s and 5s (400, 320 and
// 256 are what is used). Transforming allocates nothing. Frames are independent of each other: what one
// yields does not depend on its neighbours, bit for bit, and is the same on every processor. Any number of
// threads may use one plan.
class RealFft {
 public:
  explicit RealFft(int64_t n);

  int64_t n() const { return n_; }
  int64_t n_bins() const { return n_ / 2 + 1; }

  // frames [n, n_frames] -> power [n_bins, n_frames]: squared magnitudes, not scaled.
  void power(std::span<const float> frames, std::span<float> power) const;

  // frames [n, n_frames] -> spectra, real and imaginary parts [n_bins, n_frames] each, not scaled.
  void forward(std::span<const float> frames, std::span<float> re, std::span<float> im) const;

  // The way back, scaled: inverse(forward(x)) is x. The imaginary parts of the first and the last bin count
  // as 0.
  void inverse(std::span<const float> re, std::span<const float> im, std::span<float> frames) const;

 private:
  struct Rotation {
    float cos, sin;  // of e^(-i angle) = cos - i sin
  };
  // One pass of the transform: `stride` interleaved transforms of `length` points become stride * radix ones
  // of length / radix.
  struct Pass {
    int64_t radix, length, stride;
    std::vector<Rotation> rotations;  // [radix - 1, length / radix]
  };

  // frames [n, n_frames]: stores bin after bin of four frames, store(first_frame, n_used, bin, re, im).
  template <class Store>
  void transform_all(std::span<const float> frames, const Store& store) const;

  int64_t n_;
  std::vector<Pass> passes_;     // of the complex transform of n / 2 points
  std::vector<Rotation> split_;  // [n / 4 + 1]: what turns its result into that of n real points
};

}  // namespace parlance
