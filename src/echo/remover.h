// Echo and noise out of a microphone's sound, frame by frame: finds how late the loudspeaker is heard, has a
// library take it out, and judges what is left.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "echo/canceller.h"
#include "echo/echo_delay.h"
#include "echo/residual_echo.h"

namespace parlance {

class EchoRemover {
 public:
  explicit EchoRemover(EchoLibrary library)
      : canceller_(make_echo_canceller(library)), residual_(residual_manner_of(library)) {}

  // kEchoFrame samples each: what was heard, what was played at that time or up to 300 ms before it is heard,
  // and what is left.
  void process(std::span<const float> heard, std::span<const float> played, std::span<float> left);

  // As ResidualEcho::gate().
  float gate() const { return residual_.gate(); }
  // Between playing and hearing; none while that is not known.
  std::optional<int> delay_ms() const { return delay_.ms(); }

 private:
  std::unique_ptr<EchoCanceller> canceller_;
  EchoDelay delay_;
  ResidualEcho residual_;
  std::vector<float> played_;  // lately, the newest last
  int shift_ms_ = 0;           // what was played so long ago is given to the canceller
  int n_audible_ = 0;          // frames for which what was played can still be heard
};

}  // namespace parlance
