#include "engine/scheduler.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "base/parameter.h"
#include "engine/context.h"
#include "engine/elapsed.h"
#include "sampling/logits.h"

namespace parlance {

namespace {

using std::chrono::milliseconds;

// A priority of which nothing was computed for so long is favoured, and from then on for this time.
constexpr milliseconds kPatience{500}, kFavour{100};

// Steps in which the highest logits were not enough for a task: all of them are asked for at once then.
constexpr int kMostInVain = 8;

size_t index_of(Priority priority) {
  return static_cast<size_t>(priority);
}

}  // namespace

Scheduler::Scheduler(Context& context) : context_(context), runner_(context), proposals_(context, runner_) {}

Scheduler::~Scheduler() {
  turns_.stop();
  take_posted();
  while (!tasks_.empty()) end(*tasks_.back(), fail(ErrorCode::cancelled, "the model was closed"));
}

Result<void> Scheduler::post(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    // Those that are less urgent take nobody's place.
    const int64_t most = context_.options().n_seq + context_.options().n_waiting;
    const auto own = n_tasks_.begin() + static_cast<ptrdiff_t>(index_of(task.work_.priority));
    const int64_t n_before = std::accumulate(n_tasks_.begin(), own + 1, int64_t{0});
    if (n_before >= most) {
      return fail(ErrorCode::busy, "{} requests are running or waiting already; try again later", n_before);
    }
    ++*own;
    posted_.push_back(&task);
  }
  wake();
  return {};
}

bool Scheduler::step() {
  const Pause pause(*this);
  return compute() == Turns::Progress::made;
}

SchedulerStats Scheduler::stats() const {
  const std::lock_guard lock(mutex_);
  SchedulerStats stats = stats_;
  stats.n_tasks = std::accumulate(n_tasks_.begin(), n_tasks_.end(), int64_t{0});
  return stats;
}

bool Scheduler::withdraw(Task& task) {
  {
    const std::lock_guard lists(lists_);
    const std::lock_guard lock(mutex_);
    if (task.is_done() || task.sequence_) return false;
    if (std::erase(posted_, &task) + std::erase(tasks_, &task) == 0) return false;
    --n_tasks_[index_of(task.work_.priority)];
  }
  task.claim_ = {};
  task.end(fail(ErrorCode::cancelled, "cancelled"));
  task.is_done_.store(true, std::memory_order_release);  // its owner may delete it now
  wake();                                                // others may wait for what it would have computed
  return true;
}

// One step, by whoever has the turn.
Turns::Progress Scheduler::compute() {
  const std::lock_guard lists(lists_);
  const Clock::time_point now = Clock::now();
  n_ended_ = 0;
  take_posted();
  end_unwanted(now);
  if (run_ahead()) return Turns::Progress::made;
  rank(now);
  is_full_ = false;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i]->stage_ == Task::Stage::waiting) admit(*tasks_[i]);
  }
  note_queues(now);
  if (deliver_known()) return Turns::Progress::made;  // somebody may be waiting for just that
  if (answered_.n_rows > 0 && go_on_with_prompts()) return Turns::Progress::made;
  if (const Result<void> proposed = propose(); !proposed) {
    fail_all(proposed.error());
    return Turns::Progress::made;
  }
  const StepPlan plan = plan_step();
  if (!plan.pieces().empty()) run(plan);
  const bool has_made = !plan.pieces().empty() || go_on_with_prompts();
  if (has_made || n_ended_ > 0) return Turns::Progress::made;
  return tasks_.empty() ? Turns::Progress::idle : Turns::Progress::waiting;
}

Result<void> Scheduler::propose() {
  const std::vector<Task*> answering = ready(Task::Stage::answering);
  const Computing computing(lists_);
  return proposals_.propose(answering);
}

void Scheduler::take_posted() {
  std::vector<Task*> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (Task* const task : posted) {
    task->order_ = ++n_arrived_;
    task->waits_since_ = Clock::now();
    if (!task->prompt_.empty() && !task->work_.sharing.is_off)
      task->claim_ = context_.tree().announce({task->prompt_, {}, task->work_.sharing.space});
    let_pass(*task);
    tasks_.push_back(task);
  }
}

// What less urgent ones are to compute, and have not begun, it does not wait for: they promise it later.
void Scheduler::let_pass(const Task& task) {
  for (Task* const other : tasks_) {
    if (other->has_begun_ || other->prompt_.empty() || other->work_.sharing.is_off ||
        other->work_.priority <= task.work_.priority)
      continue;
    other->claim_ = {};
    other->claim_ = context_.tree().announce({other->prompt_, {}, other->work_.sharing.space});
  }
}

void Scheduler::end_unwanted(Clock::time_point now) {
  const std::vector<Task*> tasks = tasks_;
  for (Task* const task : tasks) {
    if (task->work_.cancellation.cancelled()) {
      end(*task, fail(ErrorCode::cancelled, "cancelled"));
    } else if (task->work_.deadline && now >= *task->work_.deadline) {
      end(*task, fail(ErrorCode::timed_out,
                      "{}: the request was not finished in time; allow more, or ask for fewer tokens",
                      context_.model().file().name()));
    }
  }
}

void Scheduler::end(Task& task, Result<void> outcome) {
  std::erase(tasks_, &task);
  proposals_.forget(task);
  if (task.sequence_) runner_.forget_ahead(*task.sequence_);
  drop_paused(task);
  task.claim_ = {};
  task.end(std::move(outcome));
  task.own_sequence_.reset();
  ++n_ended_;
  {
    const std::lock_guard lock(mutex_);
    --n_tasks_[index_of(task.work_.priority)];
  }
  task.is_done_.store(true, std::memory_order_release);  // its owner may delete it now
}

void Scheduler::rank(Clock::time_point now) {
  for (Task* const task : tasks_) task->urgency_ = task->work_.priority;
  favour_the_starving(now);
  // Who computes what a more urgent one waits for is as urgent. Few compute prompts at once, and many may
  // wait: what each waits for is looked at only where that matters.
  std::vector<Task*> computing;
  std::ranges::copy_if(tasks_, std::back_inserter(computing),
                       [](const Task* task) { return task->stage_ == Task::Stage::prompt; });
  for (const Task* const task : tasks_) {
    const auto is_held_back = [task](const Task* earlier) {
      return earlier->order_ < task->order_ && earlier->urgency_ > task->urgency_;
    };
    if (task->stage_ != Task::Stage::waiting || std::ranges::none_of(computing, is_held_back) ||
        !is_waiting_for_prefix(*task))
      continue;
    for (Task* const earlier : computing) {
      if (is_held_back(earlier)) earlier->urgency_ = task->urgency_;
    }
  }
  std::ranges::sort(tasks_, {}, [this](const Task* task) {
    return std::tuple(task != favoured_, task->urgency_, task->order_);
  });
}

// The first of a priority of which nothing was computed for long is as urgent as anybody.
void Scheduler::favour_the_starving(Clock::time_point now) {
  std::array<Task*, 3> first = {};
  for (Task* const task : tasks_) {
    Task*& known = first[index_of(task->work_.priority)];
    if (!task->is_held_up() && (!known || task->order_ < known->order_)) known = task;
  }
  const Task* const before = std::exchange(favoured_, nullptr);
  const auto urgent = std::ranges::min_element(tasks_, {}, [](const Task* task) { return task->urgency_; });
  for (size_t i = 0; i < services_.size(); ++i) {
    Service& service = services_[i];
    const bool was_wanted = std::exchange(service.is_wanted, first[i] != nullptr);
    if (!was_wanted) service.last = now;
    if (!first[i]) continue;
    service.most_idle_s = std::max(service.most_idle_s, ms_between(service.last, now) / 1000);
    // What has been begun of a prompt is not thrown away.
    const bool goes_on = now < service.until || (first[i] == before && before->paused_);
    if (now - service.last <= kPatience && !goes_on) continue;
    favoured_ = first[i];
    first[i]->urgency_ = (*urgent)->urgency_;
  }
}

// By what began and ended then. However long that took, nobody was idle meanwhile whom it was for.
void Scheduler::note_served(const Task& task, Clock::time_point begun, Clock::time_point now) {
  Service& service = services_[index_of(task.work_.priority)];
  service.most_idle_s = std::max(service.most_idle_s, ms_between(service.last, begun) / 1000);
  if (begun - service.last > kPatience) service.until = now + kFavour;
  service.last = now;
}

bool Scheduler::is_waiting_for_prefix(const Task& task) const {
  const Sharing& sharing = task.work_.sharing;
  if (task.has_begun_ || task.prompt_.size() < 2 || sharing.is_off) return false;
  const PrefixKey known(std::span(task.prompt_).first(task.prompt_.size() - 1), {}, sharing.space);
  return context_.tree().wait(known, &task.claim_, milliseconds(0), [] { return false; }) !=
         PrefixWait::ready;
}

void Scheduler::admit(Task& task) {
  if (is_waiting_for_prefix(task)) return;
  if (task.has_begun_ && &task != favoured_ && !has_pages_for(*task.sequence_) && is_anybody_at_work())
    return;
  if (!give_sequence(task)) return;
  Sequence& sequence = *task.sequence_;
  if (task.has_begun_) {  // its memory was given away
    sequence.take_known(nullptr, task.n_outputs_);
  } else if (!task.prompt_.empty()) {
    sequence.set_sharing(task.work_.sharing);
    sequence.begin(task.prompt_, &task.claim_, task.known_outputs_.empty() ? task.n_outputs_ : 0);
  }
  if (!task.has_begun_) task.begun();
  task.has_begun_ = true;
  task.stage_ = !task.prompt_.empty() || sequence.n_missing() > kMostAnswerTokens ? Task::Stage::prompt
                                                                                  : Task::Stage::answering;
}

// One that is free, else that of who is less urgent and came last. False: it has to wait until one is closed.
bool Scheduler::give_sequence(Task& task) {
  if (task.sequence_ && !task.sequence_->is_parked()) return true;
  if (is_full_) return false;
  const auto open = [&task] {
    if (task.sequence_) return task.sequence_->unpark();
    auto opened = Sequence::open(task.context_);
    if (!opened) return false;
    task.own_sequence_ = *std::move(opened);
    task.sequence_ = task.own_sequence_.get();
    return true;
  };
  if (open()) return true;
  Task* const other = least_urgent_with_sequence(task);
  is_full_ = !other;
  if (is_full_) return false;
  take_memory(*other);
  other->sequence_->park();
  return open();
}

// The last in rank that holds a sequence of the scheduler's and may lose it to this one.
Task* Scheduler::least_urgent_with_sequence(const Task& than) const {
  for (Task* const task : std::views::reverse(tasks_)) {
    if (!task->own_sequence_ || task->own_sequence_->is_parked()) continue;
    const bool is_behind =
        &than == favoured_ ? task->work_.priority != than.work_.priority : task->urgency_ > than.urgency_;
    if (is_behind) return task;
  }
  return nullptr;
}

// To those who were admitted with nothing left to compute. Whether there was anybody.
bool Scheduler::deliver_known() {
  const std::vector<Task*> tasks = tasks_;
  bool has_delivered = false;
  for (Task* const task : tasks) {
    if (task->known_outputs_.empty() || task->stage_ == Task::Stage::waiting) continue;
    const std::vector<float> outputs = std::exchange(task->known_outputs_, {});
    if (task->sequence_->n_missing() > 0) continue;
    task->take(outputs, 1);
    task->claim_ = {};
    task->stage_ = Task::Stage::answering;
    go_on(*task);
    has_delivered = true;
  }
  return has_delivered;
}

bool Scheduler::is_anybody_at_work() const {
  return std::ranges::any_of(tasks_, [](const Task* task) { return task->stage_ != Task::Stage::waiting; });
}

// Whether there are pages for what it lacks, as far as the tree gives up its own.
bool Scheduler::has_pages_for(const Sequence& sequence) const {
  const PageKind kind = context_.layout().page_rules().written;
  const int64_t n_wanted = div_up<int64_t>(sequence.n_tokens() + 1, context_.layout().page_tokens) + 1;
  return context_.pools()[kind].n_free() + context_.tree().n_evictable()[kind] >= n_wanted;
}

// The device failed outside a step of anybody's.
void Scheduler::fail_all(const Error& error) {
  const std::vector<Task*> tasks = tasks_;
  for (Task* const task : tasks) {
    if (task->sequence_ && task->has_begun_) task->sequence_->failed();
    end(*task, tl::unexpected(error));
  }
}

// Whether a task is still there: some lose their memory to others meanwhile, or end for lack of it.
bool Scheduler::is_at(const Task* task, Task::Stage stage) const {
  return std::ranges::find(tasks_, task) != tasks_.end() && task->stage_ == stage;
}

// Those in this stage that have something to be computed, in rank.
std::vector<Task*> Scheduler::ready(Task::Stage stage) const {
  std::vector<Task*> ready;
  for (Task* const task : tasks_) {
    if (task->stage_ == stage && !task->is_held_up() && task->sequence_->n_missing() > 0)
      ready.push_back(task);
  }
  return ready;
}

// Answers first, each with the few tokens that it has; then branches of drafts, and prompts, as much of them
// as fits.
StepPlan Scheduler::plan_step() {
  StepPlan plan(context_);
  if (const Task* const kept_waiting = std::exchange(kept_waiting_, nullptr)) {
    for (Task* const task : ready(Task::Stage::prompt)) {
      if (task == kept_waiting && !task->paused_) add(plan, *task, plan.room_for_prompt(*task, times_));
    }
  }
  for (Task* const task : ready(Task::Stage::answering)) {
    if (is_at(task, Task::Stage::answering))
      add(plan, *task, std::min(task->sequence_->n_missing(), plan.n_rows_left()));
  }
  plan.take_branches();
  for (Task* const task : ready(Task::Stage::prompt)) {
    if (plan.n_rows_left() <= 0) break;
    if (!is_at(task, Task::Stage::prompt) || task->paused_) continue;
    if (plan.has(*task) || (context_.can_pause() && plan.is_awaited_beside(*task))) continue;
    const int64_t n = plan.room_for_prompt(*task, times_);
    add(plan, *task, n);
    // It goes first next time, since those that answer would fill each step.
    if (context_.options().batches_as_alone && !plan.has(*task) && !kept_waiting_) kept_waiting_ = task;
  }
  return plan;
}

void Scheduler::add(StepPlan& plan, Task& task, int64_t n) {
  const std::optional<StepPlan::Piece> piece = plan.piece_of(task, n);
  if (piece && prepare(*piece, plan)) plan.add(*piece);
}

// Memory for the piece. Branches of drafts give up theirs for it, then who is less urgent, or came later;
// when nobody can, the piece has to wait until another task ends.
bool Scheduler::prepare(const StepPlan::Piece& piece, StepPlan& plan) {
  while (!runner_.prepare(piece.slice)) {
    piece.slice.sequence->give_back_room();
    if (plan.give_up_branches()) continue;
    Task* const victim = least_urgent(*piece.task);
    if (victim) {
      preempt(*victim, plan);
      continue;
    }
    const bool is_alone = std::ranges::none_of(
        tasks_, [&](const Task* task) { return task != piece.task && task->stage_ != Task::Stage::waiting; });
    if (is_alone) {
      end(*piece.task,
          fail(ErrorCode::out_of_memory,
               "the KV cache has no pages left for {} positions beside what other sequences hold; raise {} "
               "or end a sequence",
               piece.slice.sequence->n_computed() + piece.slice.n_tokens, Parameter::ctx_size));
    }
    return false;
  }
  return true;
}

// The last in rank that holds pages, if it is behind this one or nobody takes what it makes.
Task* Scheduler::least_urgent(const Task& than) const {
  const auto holds_pages = [&](const Task& task) {
    return &task != &than && task.stage_ != Task::Stage::waiting &&
           (task.sequence_->n_computed() > 0 || task.paused_);
  };
  for (Task* const task : tasks_) {
    if (holds_pages(*task) && task->is_held_up()) return task;
  }
  for (Task* const task : std::views::reverse(tasks_)) {
    if (task == &than) return nullptr;
    if (holds_pages(*task)) return task;
  }
  return nullptr;
}

void Scheduler::preempt(Task& task, StepPlan& plan) {
  plan.remove(task);
  take_memory(task);
}

// It computes its text again when it is its turn; nobody waits for what it has promised.
void Scheduler::take_memory(Task& task) {
  drop_paused(task);
  runner_.forget_ahead(*task.sequence_);
  task.sequence_->give_up_memory();
  task.claim_ = {};
  task.begin_again();
  task.stage_ = Task::Stage::waiting;
  const std::lock_guard lock(mutex_);
  ++stats_.n_preemptions;
}

void Scheduler::run(const StepPlan& plan) {
  const std::span<const StepPlan::Piece> pieces = plan.pieces();
  const Clock::time_point start = Clock::now();
  std::vector<Slice> slices;
  std::vector<Cancellation> tickets;
  for (const StepPlan::Piece& piece : pieces) {
    slices.push_back(piece.slice);
    tickets.push_back(piece.task->work_.cancellation);
  }
  const std::vector<TokenDraw> draws = draws_of(pieces);
  const Result<bool> done = [&]() -> Result<bool> {
    const Computing computing(lists_);
    PARLANCE_CHECK(proposals_.read(pieces));
    return runner_.run(slices, plan.wanted(), tickets, draws);
  }();
  take_outputs(pieces, done, start);
}

// Of a step that began when nothing was computed any more, or these pieces were.
void Scheduler::take_outputs(std::span<const StepPlan::Piece> pieces, const Result<bool>& done,
                             Clock::time_point start) {
  if (!done || !*done) {
    for (const StepPlan::Piece& piece : pieces) piece.slice.sequence->failed();
    for (const StepPlan::Piece& piece : pieces) {
      if (!done) end(*piece.task, tl::unexpected(done.error()));
    }
    return;
  }
  const Clock::time_point now = step_end_ = Clock::now();
  step_time_ = now - start;
  note(pieces, ms_between(start, now));
  int64_t n_all = 0, n_before = 0;
  for (const StepPlan::Piece& piece : pieces) n_all += piece.slice.n_outputs;
  for (const StepPlan::Piece& piece : pieces) {
    piece.task->waits_since_ = now;
    note_served(*piece.task, start, now);
    deliver(piece, n_before, n_all);
    n_before += piece.slice.n_outputs;
  }
}

// A step with these pieces took so long.
void Scheduler::note(std::span<const StepPlan::Piece> pieces, double ms) {
  int64_t n_running = 0, n_prompt = 0, depth = 0, deepest_prompt = 0;
  bool has_branches = false;
  answered_ = {};
  for (const StepPlan::Piece& piece : pieces) {
    (piece.is_prompt ? n_prompt : n_running) += piece.slice.n_rows();
    if (!piece.is_prompt) {
      ++answered_.n_sequences;
      answered_.urgency = std::min(answered_.urgency, piece.urgency);
    }
    const int64_t n_before = piece.slice.sequence->n_computed();
    depth += n_before * (1 + std::ssize(piece.slice.sequence->branches()));
    has_branches |= piece.slice.n_branch_tokens > 0;
    if (piece.is_prompt) deepest_prompt = std::max(deepest_prompt, n_before);
  }
  answered_.n_rows = n_running;
  answered_.had_prompts = n_prompt > 0;
  times_.note(n_running, n_prompt, deepest_prompt, ms);
  if (n_prompt == 0) proposals_.note_step({n_running, depth, has_branches}, ms);
  count_step(n_running + n_prompt);
  if (on_step_) on_step_({.n_rows = n_running + n_prompt, .n_sequences = std::ssize(pieces), .ms = ms});
  const std::lock_guard lock(mutex_);
  stats_.draft_ms = proposals_.draft_ms();
  if (proposals_.has_drafts()) stats_.verify_ms += ms;
}

void Scheduler::count_step(int64_t n_rows) {
  const std::lock_guard lock(mutex_);
  ++stats_.n_steps;
  stats_.n_tokens += static_cast<uint64_t>(n_rows);
}

void Scheduler::note_queues(Clock::time_point now) {
  decltype(stats_.queues) queues;
  for (const Task* const task : tasks_) {
    SchedulerStats::Queue& queue = queues[static_cast<size_t>(task->work_.priority)];
    const bool is_waiting = task->stage_ == Task::Stage::waiting;
    ++(is_waiting ? queue.n_waiting : queue.n_running);
    if (is_waiting) queue.oldest_s = std::max(queue.oldest_s, ms_between(task->waits_since_, now) / 1000);
  }
  for (size_t i = 0; i < queues.size(); ++i) queues[i].most_idle_s = services_[i].most_idle_s;
  const std::lock_guard lock(mutex_);
  stats_.queues = queues;
}

Result<void> Scheduler::keep_states(Sequence& sequence) {
  PARLANCE_TRY(StateCopy states, runner_.save_states(sequence));
  sequence.add_snapshot(std::move(states));
  return {};
}

// The piece's outputs are those behind n_before others of the step's n_all.
void Scheduler::deliver(const StepPlan::Piece& piece, int64_t n_before, int64_t n_all) {
  Task& task = *piece.task;
  Sequence& sequence = *task.sequence_;
  sequence.computed(piece.slice.n_tokens);
  if (sequence.wants_snapshot()) {
    if (const Result<void> kept = keep_states(sequence); !kept) return end(task, kept);
  }
  const Result<void> given = give_outputs(piece, n_before, n_all);
  {
    const std::lock_guard lock(mutex_);
    stats_.n_whole_rows = runner_.n_whole_rows();
    stats_.n_ahead = runner_.n_ahead();
    stats_.n_in_vain = runner_.n_in_vain();
  }
  if (!given) return end(task, given);
  if (sequence.n_missing() > 0) return sequence.remember_pages();
  if (task.stage_ == Task::Stage::prompt) {
    sequence.remember();  // others may begin like this, and end inside the last page
    task.claim_ = {};
    task.stage_ = Task::Stage::answering;
  }
  go_on(task);
}

Result<void> Scheduler::not_a_number(const Sequence& sequence) const {
  return fail(ErrorCode::corrupt_file,
              "{}: what the model computed up to token {} is not a number; its file is damaged, or the KV "
              "cache's format is too coarse for it: use {}",
              context_.model().file().name(), sequence.n_computed(), set_to(Parameter::cache, "exact"));
}

// Errors: an output is no number; the device has failed.
Result<void> Scheduler::give_outputs(const StepPlan::Piece& piece, int64_t n_before, int64_t n_all) {
  Task& task = *piece.task;
  const int64_t n = piece.slice.n_outputs;
  if (n == 0) return {};
  if (runner_.n_top() > 0) {
    for (int64_t i = n_before; i < n_before + n; ++i) {
      if (!runner_.top(i)) return not_a_number(*task.sequence_);
    }
    return give_top(task, {runner_, n_before, n});
  }
  const auto part = [&](auto all) {
    const size_t row = all.size() / static_cast<size_t>(n_all);
    return all.subspan(static_cast<size_t>(n_before) * row, static_cast<size_t>(n) * row);
  };
  const std::span<const float> rows = part(runner_.outputs());
  const std::span<const Token> tokens = part(runner_.tokens());
  if (!all_finite(rows) || std::ranges::find(tokens, -1) != tokens.end())
    return not_a_number(*task.sequence_);
  tokens.empty() ? task.take(rows, n) : task.take_tokens(tokens);
  return {};
}

// What the task needs to know of them.
Result<void> Scheduler::give_top(Task& task, TopRows rows) {
  if (task.does_with_tokens_) {
    std::vector<Token> tokens;
    for (int64_t i = 0; i < rows.size(); ++i) tokens.push_back(rows.top(i).tokens.front());
    task.take_tokens(tokens);
    return {};
  }
  if (task.does_with_top_) {
    PARLANCE_CHECK(task.take_top(rows));
    task.n_in_vain_ = std::max(0, task.n_in_vain_ + (rows.was_asked() ? 1 : -1));
    if (task.n_in_vain_ > kMostInVain) task.does_with_top_ = false;
    return {};
  }
  PARLANCE_TRY(const std::span<const float> logits, rows.logits(0, rows.size()));
  task.take(logits, rows.size());
  return {};
}

// All of its sequence has been computed and taken.
void Scheduler::go_on(Task& task) {
  Sequence& sequence = *task.sequence_;
  const bool has_more = task.computed();
  sequence.remember_pages();  // not before what was drafted has been taken or not
  if (!has_more) return end(task, sequence.wants_last_snapshot() ? keep_states(sequence) : Result<void>());
  if (sequence.n_missing() > kMostAnswerTokens) task.stage_ = Task::Stage::prompt;
}

}  // namespace parlance
