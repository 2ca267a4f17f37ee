// Echo and noise out of a microphone's sound, frame by frame, and whether somebody speaks in what is left.
#pragma once

#include <optional>
#include <span>

#include "echo/echo_canceller.h"
#include "echo/suppressor.h"

namespace parlance {

class EchoRemover {
 public:
  // kEchoFrame samples each: what was heard, what was played at that time or up to 300 ms before it is heard,
  // and what is left, 12 ms later. Samples beyond full scale are cut off; what is no number is silence.
  void process(std::span<const float> heard, std::span<const float> played, std::span<float> left);

  // What was played `n_ago` samples ago, where silence was given because it was not known in time. It is
  // known early enough as long as it is not heard.
  void amend(std::span<const float> samples, size_t n_ago);

  // Root mean square from which on what is left may be a voice; 0: nothing that was played can be heard.
  float gate() const { return gate_; }
  // Between playing and hearing; none while that is not known.
  std::optional<int> delay_ms() const { return canceller_.delay_ms(); }

  // What is played has been cut or stretched: how late it is heard has to be found again.
  void restart() { canceller_.restart(); }

 private:
  EchoCanceller canceller_;
  Suppressor suppressor_;
  int n_audible_ = 0;    // frames for which what was played can still be heard
  float excess_db_ = 0;  // of late, as the suppressor's
  float gate_ = 0;
};

}  // namespace parlance
