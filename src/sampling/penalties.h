// Tokens that were seen lately, and what that costs them.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

namespace parlance {

struct PenaltyOptions {
  float repetition = 1;  // divides positive, multiplies negative logits of seen tokens
  float presence = 0;    // subtracted from the logit of a seen token
  float frequency = 0;   // subtracted for each time that it was seen
  int last_n = 0;        // tokens to look back on; -1: all

  bool are_off() const { return last_n == 0 || (repetition == 1 && presence == 0 && frequency == 0); }
};

class Penalties {
 public:
  explicit Penalties(const PenaltyOptions& options) : options_(options) {}

  void accept(int32_t token);
  void forget();
  bool are_on() const { return !options_.are_off(); }
  bool are_idle() const { return options_.are_off() || counts_.empty(); }
  void apply(std::span<float> logits) const;
  // What apply() makes of a token's logit.
  float applied_to(int32_t token, float logit) const;

 private:
  float penalised(float logit, int count) const;

  PenaltyOptions options_;
  std::deque<int32_t> window_;  // oldest first; empty when all tokens count
  std::unordered_map<int32_t, int> counts_;
};

}  // namespace parlance
