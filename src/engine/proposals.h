// What is proposed to running answers before a step, for the model to verify: by which drafter, and how much.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/draft_length.h"
#include "engine/drafter.h"
#include "engine/step_plan.h"

namespace parlance {

class Context;
class Runner;
class Task;

class Proposals {
 public:
  // With the drafters that the context was made with.
  Proposals(Context& context, Runner& runner);

  // Drafters that read texts themselves read as much of the prompts whose answers will wish for drafts as the
  // next step does. Errors: the device failed.
  Result<void> read(std::span<const StepPlan::Piece> pieces);

  // Gives drafts to those of the running answers that wish for them and for which they pay: by the first
  // drafter that has something to propose for each. Errors: the device failed.
  Result<void> propose(std::span<Task* const> answers);

  // A step with nothing but rows of answers took so long.
  void note_step(int64_t n_rows, double ms) { costs_.note_step(n_rows, ms); }

 private:
  // Each with how long drafts of its are worth making.
  struct Proposer {
    std::unique_ptr<Drafter> drafter;
    DraftLength length;
  };
  struct Wanted;

  std::vector<Wanted> wanted_by(std::span<Task* const> answers) const;
  Result<void> ask(Proposer& proposer, std::span<Wanted> wanted, int64_t n_rows);

  Context& context_;
  std::vector<Proposer> proposers_;  // in the order in which they are asked
  DraftCosts costs_;
};

}  // namespace parlance
