#include "engine/step_plan.h"

#include <algorithm>

#include "engine/context.h"

namespace parlance {

StepPlan::StepPlan(const Context& context)
    : n_batch_(context.options().n_batch),
      most_alike_rows_(context.most_alike_rows()),
      batches_as_alone_(context.options().batches_as_alone),
      n_rows_(n_batch_),
      n_outputs_(context.options().n_outputs) {}

// Of the task's next n tokens so many that those of a draft beside its prompt are computed as each would be
// alone. The prompt is cut nowhere that it would not be without a draft.
int64_t StepPlan::alike(const Task& task, int64_t n) const {
  const int64_t n_before_draft = std::max<int64_t>(0, task.sequence_->n_missing() - task.n_beside_);
  return n <= n_before_draft ? n : std::min(n, std::max(n_before_draft, most_alike_rows_));
}

std::optional<StepPlan::Piece> StepPlan::piece_of(Task& task, int64_t n) const {
  const Sequence& sequence = *task.sequence_;
  if (task.n_beside_ > 0) n = alike(task, n);
  const int64_t first_output = sequence.n_tokens() - task.n_outputs_;
  const int64_t end = sequence.n_computed() + n;
  const int64_t n_wanted = std::max<int64_t>(0, end - std::max(sequence.n_computed(), first_output));
  const bool is_prompt = task.stage_ == Task::Stage::prompt;
  if (n_wanted > n_outputs_ && batches_as_alone_ && is_prompt && !pieces_.empty()) return std::nullopt;
  n -= std::max<int64_t>(0, n_wanted - n_outputs_);  // the rest of the outputs in the next step
  if (n <= 0) return std::nullopt;
  if (!pieces_.empty() && pieces_.front().task->wants_logits_ != task.wants_logits_) return std::nullopt;
  const int64_t n_before_draft = sequence.n_missing() - task.n_beside_;
  Slice slice{task.sequence_, n, std::min(n_wanted, n_outputs_)};
  slice.n_beside = std::clamp<int64_t>(n - n_before_draft, 0, std::min(n, task.n_beside_));
  return Piece{&task, slice, is_prompt, task.urgency_};
}

bool StepPlan::has_room_for_branches(const Piece& piece) const {
  const Sequence& sequence = *piece.slice.sequence;
  const int64_t n = sequence.n_branch_tokens();
  return piece.slice.n_tokens == sequence.n_missing() && piece.slice.n_outputs == piece.task->n_outputs_ &&
         n <= n_rows_ && n <= n_outputs_;
}

void StepPlan::take_branches() {
  for (Piece& piece : pieces_) {
    Sequence& sequence = *piece.slice.sequence;
    if (!has_room_for_branches(piece) || !sequence.make_room_for_branches()) sequence.drop_branches();
    const int64_t n = sequence.n_branch_tokens();
    piece.slice.n_branch_tokens = n;
    piece.slice.n_outputs += n;
    n_rows_ -= n;
    n_outputs_ -= n;
  }
}

bool StepPlan::is_awaited_beside(const Task& task) const {
  return std::ranges::any_of(
      pieces_, [&](const Piece& piece) { return !piece.is_prompt && piece.urgency <= task.urgency_; });
}

// However much of a text was known, it is cut in the same places.
int64_t StepPlan::batch_alone(const Task& task) const {
  const Sequence& sequence = *task.sequence_;
  const int64_t n_until_place = n_batch_ - sequence.n_computed() % n_batch_;
  return sequence.n_until_cut(std::min(n_until_place, sequence.n_missing()));
}

int64_t StepPlan::room_for_prompt(const Task& task, const StepTimes& times) const {
  if (batches_as_alone_) {
    const int64_t n = batch_alone(task);
    return n <= n_rows_ ? n : 0;
  }
  int64_t n_running = 0, n_prompt = 0;
  for (const Piece& piece : pieces_) (piece.is_prompt ? n_prompt : n_running) += piece.slice.n_rows();
  if (!is_awaited_beside(task)) n_running = 0;
  const Sequence& sequence = *task.sequence_;
  const int64_t n = std::min(n_rows_, times.allowance(n_running, sequence.n_computed(), n_batch_) - n_prompt);
  if (n_running == 0 && n >= batch_alone(task)) return batch_alone(task);
  return sequence.n_until_cut(std::min(n, sequence.n_missing()));
}

Wanted StepPlan::wanted() const {
  if (pieces_.empty() || !pieces_.front().task->wants_logits_) return Wanted::pooled;
  bool needs_some = false, needs_all = true;
  for (const Piece& piece : pieces_) {
    if (piece.slice.n_outputs == 0) continue;
    needs_some |= !piece.task->does_with_tokens_;
    needs_all &= !piece.task->does_with_tokens_ && !piece.task->does_with_top_;
  }
  if (!needs_some) return Wanted::tokens;
  return needs_all ? Wanted::logits : Wanted::top;
}

void StepPlan::add(const Piece& piece) {
  pieces_.push_back(piece);
  n_rows_ -= piece.slice.n_rows();
  n_outputs_ -= piece.slice.n_outputs;
}

bool StepPlan::give_up_branches() {
  bool had_any = false;
  for (Piece& piece : pieces_) {
    const int64_t n = piece.slice.n_branch_tokens;
    if (n == 0) continue;
    had_any = true;
    piece.slice.sequence->drop_branches();
    piece.slice.n_outputs -= n;
    piece.slice.n_branch_tokens = 0;
    n_rows_ += n;
    n_outputs_ += n;
  }
  return had_any;
}

void StepPlan::remove(const Task& task) {
  for (const Piece& piece : pieces_) {
    if (piece.task != &task) continue;
    n_rows_ += piece.slice.n_rows();
    n_outputs_ += piece.slice.n_outputs;
  }
  std::erase_if(pieces_, [&](const Piece& piece) { return piece.task == &task; });
}

}  // namespace parlance
