// How many tokens to draft where what is said depends on it: with speculative sampling, another draft length
// makes other choices of the same quality. So that the same seed gives the same answer, lengths follow from
// what became of the answer's own drafts, and no clock is asked.
#pragma once

#include <algorithm>
#include <cstdint>

namespace parlance {

class SteadyDraftLength {
 public:
  // What a token of a text that is looked up must promise: about what its row costs where that is dear, in
  // steps without drafts.
  static constexpr float kLeastReach = 0.3f;

  // For the next step; 0: none.
  int64_t next(int64_t most) {
    if (n_to_wait_ > 0) {
      --n_to_wait_;
      return 0;
    }
    return std::min(most, static_cast<int64_t>(1 + kAhead * accepted_));
  }

  // Where hardly any token is taken, drafts are left out for a while, longer each time.
  void note(int64_t n_accepted) {
    accepted_ += kNewShare * (static_cast<double>(n_accepted) - accepted_);
    if (accepted_ >= kLeastAccepted) {
      patience_ = kFirstPatience;
      return;
    }
    n_to_wait_ = patience_;
    patience_ = std::min(2 * patience_, kMostPatience);
  }

 private:
  static constexpr double kNewShare = 0.15;      // of the last draft
  static constexpr double kAhead = 1.5;          // drafted for each token that is taken
  static constexpr double kLeastAccepted = 0.3;  // of a draft
  static constexpr int64_t kFirstPatience = 16, kMostPatience = 256;

  double accepted_ = 4;  // of a draft, on average; at first hopeful
  int64_t n_to_wait_ = 0;
  int64_t patience_ = kFirstPatience;
};

}  // namespace parlance
