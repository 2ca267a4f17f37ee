// The highest logits of a vocabulary, where the others stay on the device that computed them. Most answers
// can be sampled from these as if all were known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parlance {

struct TopLogits {
  // Finite; the highest first, and the lowest ids of equals first.
  std::span<const int32_t> tokens;
  std::span<const float> logits;
  // What those that are missing lie behind in this order: the last one, as long as none was left out.
  int32_t last_token;
  float last_logit;
  float highest;            // of the vocabulary
  float sum;                // of e^(logit - highest) over the vocabulary, within kSumError of it
  size_t n_vocab;           // tokens
  bool has_all;             // none is missing but those that were left out
  bool leaves_out = false;  // tokens that may not come, also among those that are missing

  static constexpr double kSumError = 2e-4;  // as a share; twice what devices are tested for
};

// Of the highest logits those that are left when some tokens may not come.
class TopLeft {
 public:
  // Those that `may_come` is true of; valid until the next call.
  template <class MayCome>
  TopLogits of(const TopLogits& top, const MayCome& may_come) {
    tokens_.clear();
    logits_.clear();
    for (size_t i = 0; i < top.tokens.size(); ++i) {
      if (!may_come(top.tokens[i])) continue;
      tokens_.push_back(top.tokens[i]);
      logits_.push_back(top.logits[i]);
    }
    TopLogits left = top;
    left.tokens = tokens_;
    left.logits = logits_;
    left.leaves_out = true;
    return left;
  }

 private:
  std::vector<int32_t> tokens_;
  std::vector<float> logits_;
};

}  // namespace parlance
