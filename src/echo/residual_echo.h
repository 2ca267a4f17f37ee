// Whether somebody speaks while a loudspeaker plays, or what is left after a canceller is the loudspeaker's.
#pragma once

#include <span>

#include "echo/canceller.h"

namespace parlance {

// How what a canceller leaves is judged, all per frame of 10 ms.
struct ResidualManner {
  // What is left shrinks as the canceller learns; somebody who speaks seems to make it grow, and must not
  // raise the bar before he is heard.
  float shrinks, grows;
  float dies_away;    // of the loudest that was heard lately, which a room goes on sounding with
  float margin;       // above the level that is expected to be left
  float recent;       // of powers, which are averaged for longer than what an onset leaves
  float least_share;  // of the power, which an onset can leave in a room that is well known
  int n_frames;       // that have to agree
};

ResidualManner residual_manner_of(EchoLibrary library);

class ResidualEcho {
 public:
  explicit ResidualEcho(const ResidualManner& manner) : manner_(manner) {}

  // A frame of kEchoFrame samples as it was heard, and what the canceller left of it. `is_audible`: something
  // that was played can be heard in it.
  void take(std::span<const float> heard, bool is_audible, std::span<const float> left);

  // The canceller begins to learn anew.
  void forget() { *this = ResidualEcho(manner_); }

  // Root mean square from which on what is left may be a voice; 0: nothing that was played can be heard.
  float gate() const { return gate_; }

 private:
  ResidualManner manner_;
  float share_ =
      1;  // of the level of what is heard that the canceller leaves, as far as it has learned the room
  float loudest_ = 0, heard_power_ = 0, left_power_ = 0, gate_ = 0;
  int n_much_ = 0;  // frames of late with more than that
};

}  // namespace parlance
