// Steps that are queued before it is known what the ones before them yield, so that a device does not wait
// for the host: by what samplers will likely draw, which the device does, too. What they draw is what counts;
// rows with other tokens are lost.
#include <algorithm>
#include <utility>

#include "engine/context.h"
#include "engine/scheduler.h"

namespace parlance {

// How the pieces go on, if all of them do so by what they draw, and nobody else wants anything: what is
// queued ahead, others wait for.
std::vector<TokenDraw> Scheduler::draws_of(std::span<const StepPlan::Piece> pieces) {
  if (!context_.goes_ahead() || pieces.size() != tasks_.size()) return {};
  {
    const std::lock_guard lock(mutex_);
    if (!posted_.empty()) return {};
  }
  std::vector<TokenDraw> draws;
  for (const StepPlan::Piece& piece : pieces) {
    const std::optional<TokenDraw> draw =
        piece.is_prompt ? std::nullopt : std::as_const(*piece.task).next_draw();
    if (!draw) return {};
    draws.push_back(*draw);
  }
  return draws;
}

// The answer whose next token the row of a step that is queued already turned out to have.
std::optional<StepPlan::Piece> Scheduler::piece_ahead(const Runner::AheadRow& row) const {
  const auto found = std::ranges::find_if(tasks_, [&](const Task* task) {
    return row.sequence && task->sequence_ == row.sequence && task->stage_ == Task::Stage::answering;
  });
  if (found == tasks_.end() || (*found)->is_held_up()) return std::nullopt;
  Sequence& sequence = *(*found)->sequence_;
  const bool is_it = sequence.n_computed() == row.position && sequence.n_missing() == 1 &&
                     sequence.tokens().back() == row.token && sequence.branches().empty() &&
                     (*found)->n_outputs_ == 1 && sequence.has_room_behind(0);
  if (!is_it) return std::nullopt;
  return StepPlan::Piece{
      *found, {.sequence = &sequence, .n_tokens = 1, .n_outputs = 1}, false, (*found)->urgency_};
}

// The step that was queued before it was known what it should have, as far as it has that. False: nothing of
// it.
bool Scheduler::run_ahead() {
  std::vector<StepPlan::Piece> pieces;
  std::vector<size_t> rows;
  std::vector<Slice> slices;
  std::vector<Cancellation> tickets;
  for (size_t i = 0; i < runner_.ahead().size(); ++i) {
    const std::optional<StepPlan::Piece> piece = piece_ahead(runner_.ahead()[i]);
    if (!piece || !runner_.prepare(piece->slice)) continue;
    pieces.push_back(*piece);
    rows.push_back(i);
    slices.push_back(piece->slice);
    tickets.push_back(piece->task->work_.cancellation);
  }
  if (pieces.empty()) {
    runner_.drop_ahead();
    return false;
  }
  const std::vector<TokenDraw> draws = draws_of(pieces);
  // It has been computed since the step before was. Where whoever makes steps was elsewhere for longer than
  // that takes, how long it was is not known: as long as the one before.
  const bool is_known = Clock::now() - step_end_ <= step_time_;
  const Result<bool> done = [&] {
    const Computing computing(lists_);
    return runner_.run_ahead(rows, slices, tickets, draws);
  }();
  take_outputs(pieces, done, is_known ? step_end_ : Clock::now() - step_time_);
  return true;
}

}  // namespace parlance
