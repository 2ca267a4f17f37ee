// The rows of a step, while it is decided whose they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/runner.h"
#include "engine/step_times.h"
#include "engine/task.h"

namespace parlance {

class Context;

class StepPlan {
 public:
  // The next tokens of a task.
  struct Piece {
    Task* task;
    Slice slice;
    bool is_prompt;
    Priority urgency;
  };

  explicit StepPlan(const Context& context);

  std::span<const Piece> pieces() const { return pieces_; }
  bool has(const Task& task) const {
    return std::ranges::find(pieces_, &task, &Piece::task) != pieces_.end();
  }
  int64_t n_rows_left() const { return n_rows_; }

  // The task's next n tokens, or fewer where there is no room for all of their outputs, or where a draft's
  // would have other numbers than alone; none where the step computes outputs of the other kind.
  std::optional<Piece> piece_of(Task& task, int64_t n) const;
  // Whether answers in it that are as urgent wait for what else it has.
  bool is_awaited_beside(const Task& task) const;
  // How many tokens of a prompt may go into it: no more than the answers in it that are as urgent can bear,
  // or as alone, if they are to be batched so.
  int64_t room_for_prompt(const Task& task, const StepTimes& times) const;
  // How many go into the next batch of a prompt where nobody else is.
  int64_t batch_alone(const Task& task) const;

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
  int64_t alike(const Task& task, int64_t n) const;

  std::vector<Piece> pieces_;
  int64_t n_batch_, most_alike_rows_;
  bool batches_as_alone_;
  int64_t n_rows_, n_outputs_;  // that are left
};

}  // namespace parlance
