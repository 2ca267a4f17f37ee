// Prompts beside running answers, where a pass through the layers can pause: between two steps of the answers
// some layers of a piece.
#include <algorithm>
#include <limits>

#include "engine/context.h"
#include "engine/elapsed.h"
#include "engine/scheduler.h"

namespace parlance {

namespace {

// How long a portion may last where nobody waits.
constexpr double kEndless = std::numeric_limits<double>::infinity();

}  // namespace

// Between two steps of answers, a portion of time for prompts that can wait for them; where nobody waits, all
// that is left of what has been begun. Whether anything was computed.
bool Scheduler::go_on_with_prompts() {
  const Answered before = std::exchange(answered_, {});
  if (!context_.can_pause()) return false;
  const bool is_anybody_waiting = before.n_rows > 0 && !ready(Task::Stage::answering).empty();
  Portion portion{.begun = Clock::now(), .n_others = before.n_sequences};
  for (Task* const task : ready(Task::Stage::prompt)) {
    if (!is_at(task, Task::Stage::prompt)) continue;
    const bool is_awaited = is_anybody_waiting && before.urgency <= task->urgency_;
    if (is_awaited ? before.had_prompts : !task->paused_) continue;
    portion.ms = is_awaited ? times_.portion_ms(before.n_rows) : kEndless;
    const auto has_begun = [&] { return task->paused_ || (is_awaited && begin_piece(*task, portion.ms)); };
    while (has_time_for(*task, portion) && has_begun() && run_layers(*task, portion) &&
           is_at(task, Task::Stage::prompt)) {
    }
  }
  return portion.n_layers > 0;
}

// Whether a layer more of what is computed next of a prompt fits into the portion; one is computed anyway, so
// that prompts get on.
bool Scheduler::has_time_for(const Task& task, const Portion& portion) const {
  if (portion.n_layers == 0) return true;
  if (const int64_t n = context_.options().n_layers_at_once; n > 0) return portion.n_layers < n;
  const int64_t depth = task.sequence_->n_computed();
  const int64_t n = task.paused_ ? task.paused_->slice.n_tokens : layer_times_.piece_for(portion.ms, depth);
  const double ms = layer_times_.layer_ms(n, depth);
  return ms > 0 && ms_between(portion.begun, Clock::now()) + ms <= portion.ms;
}

// The next piece of a prompt, which is to be computed in such portions. False where there is no memory for
// it.
bool Scheduler::begin_piece(Task& task, double portion_ms) {
  const Sequence& sequence = *task.sequence_;
  StepPlan plan(context_);
  const int64_t n = std::min(
      {layer_times_.piece_for(portion_ms, sequence.n_computed()), sequence.n_missing(), plan.n_rows_left()});
  const std::optional<StepPlan::Piece> piece = plan.piece_of(
      task, context_.options().batches_as_alone ? plan.batch_alone(task) : sequence.n_until_cut(n));
  if (!piece || !prepare(*piece, plan)) return false;
  plan.add(*piece);
  task.paused_ = {.slice = piece->slice, .wanted = plan.wanted()};
  return true;
}

// The piece's next layer, or all that are left where the portion has no end. Whether something came of it.
bool Scheduler::run_layers(Task& task, Portion& portion) {
  PausedSlice& paused = *task.paused_;
  const StepPlan::Piece piece{&task, paused.slice, /*is_prompt=*/true, task.urgency_};
  const int64_t n_tokens = paused.slice.n_tokens, n_layers = portion.ms < kEndless ? 1 : INT64_MAX;
  const Clock::time_point begun = Clock::now();
  const Result<bool> done = [&]() -> Result<bool> {
    const Computing computing(lists_);
    if (paused.n_layers == 0) PARLANCE_CHECK(proposals_.read({&piece, 1}));
    return runner_.run_layers(paused, n_layers, portion.n_others, task.work_.cancellation);
  }();
  ++portion.n_layers;
  if (!done || !*done) {
    drop_paused(task);
    if (!done) end(task, tl::unexpected(done.error()));
    return false;
  }
  task.waits_since_ = Clock::now();
  note_served(task, begun, task.waits_since_);
  const double ms = ms_between(begun, task.waits_since_);
  paused.ms += ms;
  if (!runner_.is_through(paused)) {
    layer_times_.note(n_tokens, task.sequence_->n_computed(), ms);
    return true;
  }
  const StepReport report{.n_rows = n_tokens, .n_sequences = 1, .ms = paused.ms};
  task.paused_.reset();
  count_step(n_tokens);
  if (on_step_) on_step_(report);
  deliver(piece, 0, piece.slice.n_outputs);
  return true;
}

// Nothing of the piece counts.
void Scheduler::drop_paused(Task& task) {
  if (!task.paused_) return;
  task.paused_.reset();
  task.sequence_->failed();
}

}  // namespace parlance
