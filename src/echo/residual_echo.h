// Whether somebody speaks while a loudspeaker plays, or what is left after a canceller is the loudspeaker's.
#pragma once

#include <span>

namespace parlance {

class ResidualEcho {
 public:
  // A frame of kEchoFrame samples as it was heard, and what the canceller left of it. `is_audible`: something
  // that was played can be heard in it.
  void take(std::span<const float> heard, bool is_audible, std::span<const float> left);

  // Root mean square from which on what is left may be a voice; 0: nothing that was played can be heard.
  float gate() const { return gate_; }

 private:
  float share_ =
      1;  // of the level of what is heard that the canceller leaves, as far as it has learned the room
  float loudest_ = 0, heard_power_ = 0, left_power_ = 0, gate_ = 0;
};

}  // namespace parlance
