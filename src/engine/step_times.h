// How long steps take on this device: learned while they are made, so that a piece of a prompt beside running
// answers is as long as these can bear.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace parlance {

// What the few last measurements were: their median, which one slow step does not move, and the least of
// them, since other work on the machine only ever adds.
class RecentTimes {
 public:
  void note(double ms);
  bool empty() const { return n_ == 0; }
  double median() const;
  double high() const;
  double least() const;

 private:
  std::array<double, 5> ms_{};
  size_t n_ = 0;  // noted so far
};

// Whether a piece of a prompt behind `depth` tokens takes clearly longer than one behind `known` of them.
bool is_far(int64_t depth, int64_t known);

class StepTimes {
 public:
  // No answer's next token comes later than this many times a step without a prompt takes.
  static constexpr double kMostStretch = 2;

  // A step with rows of running answers and of prompts, the deepest of which had `depth` tokens before them,
  // took so long.
  void note(int64_t n_running, int64_t n_prompt, int64_t depth, double ms);

  // How many tokens of prompts a step beside so many rows of answers may have, if they come behind `depth`
  // others: what comes behind many more than was ever measured is begun anew, as with nothing known. 0 at
  // first and now and then: what a step without prompts takes has to be measured anew, since texts grow
  // longer and machines busier.
  int64_t allowance(int64_t n_running, int64_t depth, int64_t most) const;

  // How long something else may be computed between two such steps, if these have no prompts.
  double portion_ms(int64_t n_running) const;

 private:
  static constexpr size_t kClasses = 16;  // of numbers of rows: powers of two

  struct Class {
    RecentTimes plain;          // a step without prompts
    RecentTimes prompt;         // what a token of a prompt adds to it
    int64_t n_since_plain = 0;  // steps with prompts after the last one without
    int64_t n_last = 0;         // tokens of prompts in the last step that had any
    int64_t depth = 0;          // that these came behind
  };

  std::array<Class, kClasses> classes_;
};

}  // namespace parlance
