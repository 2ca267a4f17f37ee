#include "engine/step_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace parlance {
namespace {

// A device on which a step costs something, a row of an answer more, and a token of a prompt more again.
struct Machine {
  double step_ms, row_ms, token_ms;
  double first_token_ms = 0;  // what the first token of a prompt costs beside that: another kernel runs
  double ms(int64_t n_running, int64_t n_prompt) const {
    return step_ms + row_ms * static_cast<double>(n_running) + token_ms * static_cast<double>(n_prompt) +
           (n_prompt > 0 ? first_token_ms : 0);
  }
};

constexpr int64_t kBatch = 512;

const Machine kMachines[] = {
    {.step_ms = 20, .row_ms = 1.1, .token_ms = 2.2},                    // weights are read from memory
    {.step_ms = 0, .row_ms = 3, .token_ms = 3},                         // arithmetic alone
    {.step_ms = 6, .row_ms = 0.02, .token_ms = 0.05},                   // a GPU
    {.step_ms = 20, .row_ms = 1, .token_ms = 2, .first_token_ms = 10},  // another kernel for prompts
    {.step_ms = 20, .row_ms = 1, .token_ms = 0.001},                    // prompts cost next to nothing
};

// The most tokens that a step may have, and how fast a prompt is read with so many in every step.
int64_t most_tokens(const Machine& machine, int64_t n_running) {
  int64_t n = 1;
  while (n < kBatch && machine.ms(n_running, n + 1) <= StepTimes::kMostStretch * machine.ms(n_running, 0))
    ++n;
  return n;
}

TEST(StepTimes, NoStepIsStretchedTooFarFromTheFirstOnAndMostOfTheTimeIsUsed) {
  for (const Machine& machine : kMachines) {
    for (const int64_t n_running : {1, 2, 3, 7, 8, 64}) {
      StepTimes times;
      double ms_in_all = 0;
      int64_t n_in_all = 0;
      for (int i = 0; i < 400; ++i) {
        const int64_t n = times.allowance(n_running, 0, kBatch);
        const double ms = machine.ms(n_running, n);
        ASSERT_LE(ms, StepTimes::kMostStretch * machine.ms(n_running, 0) * 1.0001)
            << "step " << i << ", " << n_running << " rows";
        times.note(n_running, n, 0, ms);
        if (i < 100) continue;
        n_in_all += n;
        ms_in_all += ms;
      }
      const int64_t most = most_tokens(machine, n_running);
      const double best = static_cast<double>(most) / machine.ms(n_running, most);
      // Whether the first token or each of them was dear cannot be told without risking a longer step.
      const double share = machine.first_token_ms > 0 ? 0.2 : 0.6;
      EXPECT_GE(static_cast<double>(n_in_all) / ms_in_all, share * best) << n_running << " rows, " << most;
    }
  }
}

TEST(StepTimes, NoiseAndOtherLoadDoNotStarveAPrompt) {
  const Machine machine = kMachines[0];
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.3);
  StepTimes times;
  constexpr int64_t kRunning = 7;
  double load = 1;
  int64_t n_prompt = 0;
  double quiet_ms = 0;
  for (int i = 0; i < 4000; ++i) {
    if (i % 100 == 0) load = std::uniform_real_distribution<double>(1, 3)(random);
    const double slow = i % 37 == 0 ? 8 : 1;  // somebody else had the processor
    const int64_t n = times.allowance(kRunning, 0, kBatch);
    n_prompt += n;
    quiet_ms += machine.ms(kRunning, n);
    times.note(kRunning, n, 0, machine.ms(kRunning, n) * noise(random) * load * slow);
  }
  const int64_t most = most_tokens(machine, kRunning);
  const double best = static_cast<double>(most) / machine.ms(kRunning, most);
  EXPECT_GT(static_cast<double>(n_prompt) / quiet_ms, 0.4 * best);
}

TEST(StepTimes, APromptBesideNobodyHasTheWholeStep) {
  StepTimes times;
  EXPECT_EQ(times.allowance(0, 0, kBatch), kBatch);
  times.note(0, kBatch, 0, 100);
  EXPECT_EQ(times.allowance(0, 0, kBatch), kBatch);
}

TEST(StepTimes, AStepWithoutPromptsIsMeasuredAgainAndAgain) {
  StepTimes times;
  int64_t n_since = 0;
  for (int i = 0; i < 100; ++i) {
    const int64_t n = times.allowance(3, 0, kBatch);
    n_since = n == 0 ? 0 : n_since + 1;
    ASSERT_LE(n_since, 8) << "step " << i;
    times.note(3, n, 0, kMachines[0].ms(3, n));
  }
}

// Prompts one after the other, whose tokens are the dearer the more come before them: from the start, and
// behind a beginning that was known. No step is stretched too far wherever a prompt goes on, and prompts get
// on.
TEST(StepTimes, PromptsOfAnyDepthStretchNoStepTooFar) {
  constexpr int64_t kRunning = 7;
  const auto ms_of = [](int64_t n_prompt, int64_t depth) {
    return 45 + static_cast<double>(n_prompt) * (1.5 + 0.0015 * static_cast<double>(depth));
  };
  StepTimes times;
  std::mt19937 random(3);
  for (int prompt = 0; prompt < 60; ++prompt) {
    const int64_t begin = prompt % 2 == 0 ? 0 : static_cast<int64_t>(random() % 30000);
    const int64_t end = begin + 200 + static_cast<int64_t>(random() % 4000);
    int64_t n_steps = 0;
    for (int64_t depth = begin; depth < end; ++n_steps) {
      const int64_t n = std::min(times.allowance(kRunning, depth, kBatch), end - depth);
      const double ms = ms_of(n, depth);
      // A single token may be more than is bearable.
      ASSERT_LE(ms, std::max(StepTimes::kMostStretch * ms_of(0, 0), ms_of(4, depth)) * 1.0001)
          << "prompt " << prompt << " from " << begin << " at " << depth;
      times.note(kRunning, n, depth, ms);
      depth += n;
    }
    const double bearable = 45 / (1.5 + 0.0015 * static_cast<double>(end));
    EXPECT_LT(static_cast<double>(n_steps),
              30 + static_cast<double>(end - begin) / std::max(0.4 * bearable, 0.5));
  }
}

}  // namespace
}  // namespace parlance
