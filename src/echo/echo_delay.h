// How long it takes until what a loudspeaker plays is heard: the shift at which both sounds are most alike.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "echo/frame.h"

namespace parlance {

class EchoDelay {
 public:
  EchoDelay();

  // kEchoFrame samples each of what is heard and what is played at the same time.
  void take(std::span<const float> heard, std::span<const float> played);

  // None until enough was heard; up to 300 ms.
  std::optional<int> ms() const { return ms_; }

 private:
  static constexpr size_t kEvery = 4;  // of the samples one counts: two octaves tell
  static constexpr size_t kStep = kEchoFrame / kEvery;
  static constexpr size_t kLags = 30 * kStep;
  using Steps = std::array<float, kStep>;

  // Fewer samples, and as loud in high tones as in low ones.
  class Whitener {
   public:
    Steps next(std::span<const float> samples);

   private:
    float last_ = 0;
  };

  Whitener heard_, played_;
  std::vector<float> past_;      // of what was played, [kLags + kStep], the newest last
  std::vector<float> likeness_;  // by shift
  float heard_power_ = 0, played_power_ = 0;
  int n_sounding_ = 0;
  std::optional<size_t> best_;  // in likeness_
  std::optional<int> ms_;
};

}  // namespace parlance
