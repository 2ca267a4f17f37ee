#include "engine/draft_length.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace parlance {
namespace {

// A device and a drafter: what steps and passes take, and how likely a drafted token is taken.
struct Pair {
  double step_ms, row_ms, draft_ms, taken;
};

struct Outcome {
  double ms = 0;
  double tokens = 0;
  int64_t n_drafts = 0;
  double rate() const { return tokens / ms; }
};

constexpr int64_t kLongest = 15;

// Answers without end beside `n_others` rows, with drafts as they are chosen or of a fixed length.
Outcome answer(const Pair& machine, int64_t n_others, int n_steps, int64_t fixed = -1, double noise = 0) {
  DraftLength length;
  DraftCosts costs;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  Outcome run;
  for (int i = 0; i < n_steps; ++i) {
    const int64_t n = fixed >= 0 ? fixed : length.choose(costs, n_others, kLongest, true);
    const double slow = 1 + noise * (uniform(random) < 0.2 ? 3 : uniform(random));
    const double step = machine.step_ms + machine.row_ms * static_cast<double>(n_others + 1 + n);
    int64_t n_accepted = 0;
    while (n_accepted < n && uniform(random) < machine.taken) ++n_accepted;
    run.ms += step + (n > 0 ? machine.draft_ms : 0);
    run.tokens += static_cast<double>(n_others + n_accepted + 1);  // of all answers
    run.n_drafts += n > 0;
    costs.note_step(n_others + 1 + n, step * slow);
    if (n > 0) {
      costs.note_draft(1, machine.draft_ms * slow);
      length.note(n, n_accepted);
    }
  }
  return run;
}

double best_fixed(const Pair& machine, int64_t n_others) {
  double best = 0;
  for (int64_t n = 0; n <= kLongest; ++n) best = std::max(best, answer(machine, n_others, 4000, n).rate());
  return best;
}

const Pair kPairs[] = {
    {.step_ms = 20, .row_ms = 0.5, .draft_ms = 2, .taken = 0.85},     // reads weights from memory
    {.step_ms = 20, .row_ms = 0.5, .draft_ms = 2, .taken = 0.4},      // a poor drafter
    {.step_ms = 0.2, .row_ms = 0.05, .draft_ms = 0.2, .taken = 0.8},  // the demo
    {.step_ms = 6, .row_ms = 0.01, .draft_ms = 0.5, .taken = 0.9},    // a GPU
    {.step_ms = 1, .row_ms = 10, .draft_ms = 1, .taken = 0.8},        // arithmetic alone: nothing is gained
    {.step_ms = 20, .row_ms = 0.5, .draft_ms = 40, .taken = 0.5},     // a slow drafter
    {.step_ms = 20, .row_ms = 0.5, .draft_ms = 2, .taken = 0},        // never right
};

TEST(DraftLength, IsNearlyAsFastAsTheBestLength) {
  for (const Pair& machine : kPairs) {
    for (const int64_t n_others : {0, 3, 15}) {
      const double chosen = answer(machine, n_others, 4000).rate();
      EXPECT_GE(chosen, 0.8 * best_fixed(machine, n_others)) << machine.taken << " beside " << n_others;
      EXPECT_GE(chosen, 0.97 * answer(machine, n_others, 4000, 0).rate())
          << machine.taken << " beside " << n_others;
    }
  }
}

TEST(DraftLength, NoiseOfTheMachineDoesNotSwitchItOff) {
  for (const Pair& machine : {kPairs[0], kPairs[2], kPairs[3]}) {
    EXPECT_GE(answer(machine, 0, 4000, -1, 0.5).rate(), 0.8 * best_fixed(machine, 0)) << machine.taken;
  }
}

TEST(DraftLength, WhereItDoesNotPayItIsTriedAgainNowAndThen) {
  const Outcome run = answer(kPairs[4], 0, 4000);
  EXPECT_GT(run.n_drafts, 2);
  EXPECT_LT(run.n_drafts, 80);
}

TEST(Acceptance, LearnsEachPlace) {
  Acceptance acceptance;
  for (int i = 0; i < 200; ++i) acceptance.note(4, 2);  // the first two always, the third never
  EXPECT_NEAR(acceptance.expected(1), 2, 0.01);
  EXPECT_NEAR(acceptance.expected(2), 3, 0.01);
  EXPECT_NEAR(acceptance.expected(4), 3, 0.02);
}

}  // namespace
}  // namespace parlance
