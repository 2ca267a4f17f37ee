// How long steps take on this device: learned while they are made, so that a piece of a prompt beside running
// answers is as long as these can bear.
#pragma once

#include <array>
#include <cstdint>

namespace parlance {

class StepTimes {
 public:
  // No answer's next token comes later than this many times a step without a prompt takes.
  static constexpr double kMostStretch = 2;

  // A step with rows of running answers and of prompts took so long.
  void note(int64_t n_running, int64_t n_prompt, double ms);

  // How many tokens of prompts a step beside so many rows may have; at least one.
  int64_t allowance(int64_t n_running, int64_t most) const;

 private:
  static constexpr size_t kClasses = 16;  // of numbers of rows: powers of two

  double plain_ms(int64_t n_running) const;

  std::array<double, kClasses> plain_ms_{};  // 0: not known
  double prompt_ms_ = 0;                     // a token of a prompt, beside others; 0: not known
};

}  // namespace parlance
