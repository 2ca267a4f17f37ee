// What steps cost by their rows, and drafts by their tokens, on this device: learned while they are made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace parlance {

// The longest draft of a sequence.
inline constexpr int64_t kMostDrafted = 31;

// A running mean by number: of rows, or of tokens.
class CostCurve {
 public:
  void note(int64_t n, double cost);
  bool empty() const { return is_empty_; }
  // Whether n has been noted a few times.
  bool is_sure_of(int64_t n) const;
  // Between two numbers that were noted, in proportion. Beyond them as `shape` goes on, or somewhat less
  // steeply than so far, so that more is tried once. 0 when nothing was noted.
  double at(int64_t n, const CostCurve* shape = nullptr) const;

 private:
  static constexpr size_t kNumbers = 65;
  struct Point {
    double cost = 0;
    int64_t n_noted = 0;
  };
  static size_t clamped(int64_t n);
  double one_more(size_t known) const;

  std::array<Point, kNumbers> points_;
  bool is_empty_ = true;
};

// The rows of answers in a step, and the tokens that all these answers have computed. A branch of a tree
// counts as one more answer.
struct StepSize {
  int64_t n_rows = 0;
  int64_t depth = 0;
  bool has_branches = false;
};

class DraftCosts {
 public:
  void note_step(const StepSize& size, double ms);
  bool knows_steps() const { return knows_steps_; }
  // Whether enough is known of chains to tell what branches add.
  bool knows_chains() const { return n_chains_ >= kFirstChains; }
  double step_ms(const StepSize& size) const;

 private:
  static constexpr size_t kDepths = 16;  // powers of two
  static size_t class_of(int64_t depth);
  const CostCurve* neighbour_of(size_t depth_class) const;

  // Without what slows down all of them for a while, such as other work on the machine: that is the level.
  static constexpr int64_t kFirstChains = 16;
  std::array<CostCurve, kDepths> steps_;
  // Steps with branches, by their rows, against what is known of those without, which learn nothing of them.
  CostCurve branches_;
  int64_t n_chains_ = 0;  // steps without branches, of more rows than one
  double level_ = 1;
  bool knows_steps_ = false;
};

}  // namespace parlance
