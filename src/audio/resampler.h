// From one sample rate to another, mono, as samples come. Any split of the same samples gives the same
// result.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

struct soxr;

namespace parlance {

class Resampler {
 public:
  static Result<Resampler> create(int from_hz, int to_hz);

  // Appends to `out` what is known by now: the filter looks some milliseconds ahead.
  Result<void> push(std::span<const float> samples, std::vector<float>& out);
  // Appends the rest; in total there are as many samples as the input's time has at the new rate, rounded.
  // Nothing may be pushed afterwards.
  Result<void> finish(std::vector<float>& out);

 private:
  struct Free {
    void operator()(soxr* state) const;
  };

  Resampler(int from_hz, int to_hz) : from_hz_(from_hz), to_hz_(to_hz) {}
  Result<void> run(const float* samples, size_t n, std::vector<float>& out);

  int from_hz_, to_hz_;
  std::unique_ptr<soxr, Free> state_;  // none when the rates are equal
  bool is_finished_ = false;
};

// The whole clip at once.
Result<std::vector<float>> resample(std::span<const float> samples, int from_hz, int to_hz);

}  // namespace parlance
