// How many tokens are worth drafting: what verifying them costs on this device against how many of them the
// model is likely to take. Both are learned while answers are written.
#pragma once

#include <array>
#include <cstdint>

#include "engine/step_times.h"

namespace parlance {

// The longest draft of a sequence.
inline constexpr int64_t kMostDrafted = 31;

// What steps cost by their rows, and drafts by the sequences that they are made for.
class DraftCosts {
 public:
  void note_step(int64_t n_rows, double ms);
  void note_draft(int64_t n_sequences, double ms);
  bool knows_steps() const { return knows_steps_; }

  // Between two numbers of rows that were measured, in proportion; beyond them, little more than the last: so
  // that a longer step is tried once.
  double step_ms(int64_t n_rows) const;
  // For one sequence; 0 when no draft was made yet.
  double draft_ms() const;

 private:
  static constexpr size_t kRows = 65;
  std::array<RecentTimes, kRows> by_rows_;
  RecentTimes draft_;
  bool knows_steps_ = false;
};

// How often drafted tokens are taken, by their place in the draft.
class Acceptance {
 public:
  void note(int64_t n_drafted, int64_t n_accepted);
  // Tokens that a pass with so many drafted ones yields on average: those that are taken, and the model's
  // own.
  double expected(int64_t n_drafted) const;

 private:
  // Of those whose predecessors were taken. At first hopeful, so that drafts are tried.
  std::array<double, kMostDrafted> taken_ = filled();
  static constexpr std::array<double, kMostDrafted> filled() {
    std::array<double, kMostDrafted> all{};
    for (double& one : all) one = 0.8;
    return all;
  }
};

// Decides for a drafter's sequences. One for all of them, since what one answer has shown is true of the
// next.
class DraftLength {
 public:
  // How many tokens to draft for a sequence, at most `most`, beside other rows in the step; 0: none. Also
  // every so often where drafting does not pay, to see whether it does now, and none where it does, to know
  // what a plain step costs.
  int64_t choose(const DraftCosts& costs, int64_t n_other_rows, int64_t most, bool has_cost);
  void note(int64_t n_drafted, int64_t n_accepted) { acceptance_.note(n_drafted, n_accepted); }

 private:
  Acceptance acceptance_;
  int64_t n_without_ = 0;  // choices since the last draft
  int64_t n_with_ = 0;     // drafts since the last choice without
  int64_t patience_ = 0;   // choices until a draft is tried again
};

}  // namespace parlance
