// What is proposed to running answers before a step, for the model to verify: by which drafter, and how much.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
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

  // Gives drafts to those of the running answers that wish for them and for which they pay: of the drafters
  // that are worth asking, by the one whose draft promises most, or the first of those that promise the same.
  // Errors: the device failed.
  Result<void> propose(std::span<Task* const> answers);

  // A step with nothing but rows of answers took so long.
  void note_step(const StepSize& size, double ms) { costs_.note_step(size, ms); }

  // Of the next step, and of all so far: whether it has drafted tokens, and what drafters have taken.
  bool has_drafts() const { return has_drafts_; }
  double draft_ms() const { return draft_ms_; }

  // The task has ended.
  void forget(const Task& task) { records_.erase(&task); }

 private:
  struct Proposer {
    std::unique_ptr<Drafter> drafter;
    DraftLength length;  // how long drafts of its are worth making
  };
  struct Wanted;
  struct Asked;
  struct Given;

  std::vector<Wanted> wanted_by(std::span<Task* const> answers);
  Result<void> ask(size_t proposer, std::span<Wanted> wanted);
  Asked question_for(Wanted& one, size_t proposer, size_t n_asking);
  bool asks_for_choices(Wanted& one, size_t proposer);
  void judge(size_t proposer, Wanted& one, bool is_trial, double draft_ms);
  void choose(std::span<Wanted> wanted);
  void give(Wanted& one, const Given& given, const StepSize& all, bool others_branch);
  double plain_rate() const;
  double value_of_ms() const { return speed_up_.factor() * plain_rate(); }
  double plain_ms_a_token() const;

  Context& context_;
  const Runner& runner_;
  std::vector<Proposer> proposers_;                                    // in the order in which they are asked
  std::unordered_map<const Task*, std::vector<DraftRecord>> records_;  // by proposer
  DraftCosts costs_;
  SpeedUp speed_up_;
  StepSize size_;        // of the next step, without drafts
  double plain_ms_ = 0;  // that it takes
  int64_t n_with_ = 0;   // steps with drafts since the last without
  bool has_drafts_ = false;
  double draft_ms_ = 0;
};

}  // namespace parlance
