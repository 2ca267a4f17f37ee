// The rows of a step, while it is decided whose they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/runner.h"
#include "engine/step_times.h"
#include "engine/task.h"

namespace parlance {

class StepPlan {
 public:
  // The next tokens of a task.
  struct Piece {
    Task* task;
    Slice slice;
    bool is_prompt;
    Priority urgency;
  };

  StepPlan(int64_t n_rows, int64_t n_outputs) : n_batch_(n_rows), n_rows_(n_rows), n_outputs_(n_outputs) {}

  std::span<const Piece> pieces() const { return pieces_; }
  int64_t n_rows_left() const { return n_rows_; }

  // The task's next n tokens, or fewer where there is no room for all of their outputs; none where the step
  // computes outputs of the other kind.
  std::optional<Piece> piece_of(Task& task, int64_t n) const;
  // Whether answers in it that are as urgent wait for what else it has.
  bool is_awaited_beside(const Task& task) const;
  // How many tokens of a prompt may go into it: no more than the answers in it that are as urgent can bear.
  int64_t room_for_prompt(const Task& task, const StepTimes& times) const;

  // What the pieces need to know of their outputs.
  Wanted wanted() const;

  void add(const Piece& piece);
  void remove(const Task& task);
  // Adds the branches of the drafts that the pieces have whole, where rows, outputs and memory are left for
  // all of a draft's; others are dropped.
  void take_branches();
  // Gives back what they have taken; false where there are none.
  bool give_up_branches();

 private:
  bool has_room_for_branches(const Piece& piece) const;

  std::vector<Piece> pieces_;
  int64_t n_batch_;
  int64_t n_rows_, n_outputs_;  // that are left
};

}  // namespace parlance
