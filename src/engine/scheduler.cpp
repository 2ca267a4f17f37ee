#include "engine/scheduler.h"

#include <algorithm>
#include <bit>
#include <ranges>
#include <utility>

#include "base/checked.h"
#include "base/parameter.h"
#include "engine/block_drafter.h"
#include "engine/context.h"
#include "engine/elapsed.h"
#include "engine/lookup_drafter.h"

namespace parlance {

namespace {

using std::chrono::milliseconds;

// Tokens that a running answer may add to a step: one, or a draft that is verified. What has more is a
// prompt.
constexpr int64_t kMostAnswerTokens = 32;

// Who has waited so long is treated as if somebody were reading along.
constexpr milliseconds kPatience{500};

// How often deadlines and cancellations are looked at while nothing is computed.
constexpr milliseconds kLook{2};

// Written so that compilers make vector code of it.
bool all_finite(std::span<const float> values) {
  constexpr uint32_t kAllOnes = 0x7f800000;
  uint32_t n_bad = 0;
  for (const float value : values)
    n_bad += static_cast<uint32_t>((std::bit_cast<uint32_t>(value) & kAllOnes) == kAllOnes);
  return n_bad == 0;
}

}  // namespace

Scheduler::Scheduler(Context& context) : context_(context), runner_(context) {
  if (context.options().looks_up) proposers_.push_back({std::make_unique<LookupDrafter>(), {}});
  if (context.options().drafter) proposers_.push_back({std::make_unique<BlockDrafter>(context, runner_), {}});
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
  take_posted();
  while (!tasks_.empty()) end(*tasks_.back(), fail(ErrorCode::cancelled, "the model was closed"));
}

Result<void> Scheduler::post(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    const int64_t most = context_.options().n_seq + context_.options().n_waiting;
    if (n_tasks_ >= most) {
      return fail(ErrorCode::busy, "{} requests are running or waiting already; try again later", n_tasks_);
    }
    ++n_tasks_;
    posted_.push_back(&task);
  }
  wake();
  return {};
}

void Scheduler::wake() {
  {
    const std::lock_guard lock(mutex_);
    ++n_wakes_;
  }
  changed_.notify_all();
}

void Scheduler::wait(FunctionRef<bool()> is_over) {
  for (;;) {
    uint64_t n_known;
    {
      const std::lock_guard lock(mutex_);
      n_known = n_wakes_;
    }
    if (is_over()) return;
    std::unique_lock lock(mutex_);
    if (is_computing_ || thread_.joinable()) {
      changed_.wait(lock, [&] { return n_wakes_ != n_known; });
      continue;
    }
    is_computing_ = true;
    lock.unlock();
    const bool has_worked = compute();
    lock.lock();
    is_computing_ = false;
    ++n_wakes_;
    n_known = n_wakes_;
    changed_.notify_all();
    if (!has_worked) changed_.wait_for(lock, kLook, [&] { return n_wakes_ != n_known; });
  }
}

void Scheduler::start() {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run_thread(); });
}

void Scheduler::run_thread() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (is_computing_) {  // who began before there was a thread, or holds a pause
      changed_.wait(lock);
      continue;
    }
    const uint64_t n_known = n_wakes_;
    is_computing_ = true;
    lock.unlock();
    const bool has_worked = compute();
    lock.lock();
    is_computing_ = false;
    if (has_worked) {
      ++n_wakes_;
      changed_.notify_all();
      continue;
    }
    changed_.notify_all();
    const auto has_news = [&] { return n_wakes_ != n_known || is_stopping_; };
    if (n_tasks_ == 0) {
      changed_.wait(lock, has_news);
    } else {
      changed_.wait_for(lock, kLook, has_news);
    }
  }
}

bool Scheduler::step() {
  const Pause pause(*this);
  return compute();
}

Scheduler::Pause::Pause(Scheduler& scheduler) : scheduler_(scheduler) {
  std::unique_lock lock(scheduler_.mutex_);
  scheduler_.changed_.wait(lock, [&] { return !scheduler_.is_computing_; });
  scheduler_.is_computing_ = true;
}

Scheduler::Pause::~Pause() {
  {
    const std::lock_guard lock(scheduler_.mutex_);
    scheduler_.is_computing_ = false;
    ++scheduler_.n_wakes_;
  }
  scheduler_.changed_.notify_all();
}

SchedulerStats Scheduler::stats() const {
  const std::lock_guard lock(mutex_);
  SchedulerStats stats = stats_;
  stats.n_tasks = n_tasks_;
  return stats;
}

// One step, by whoever has the turn. False when nothing has changed.
bool Scheduler::compute() {
  const Clock::time_point now = Clock::now();
  n_ended_ = 0;
  take_posted();
  end_unwanted(now);
  rank(now);
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i]->stage_ == Task::Stage::waiting) admit(*tasks_[i]);
  }
  if (const Result<void> proposed = propose(); !proposed) return fail_all(proposed.error());
  const std::vector<Piece> pieces = form_batch();
  if (!pieces.empty()) run(pieces);
  return !pieces.empty() || n_ended_ > 0;
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
    if (!task->prompt_.empty()) task->claim_ = context_.tree().announce(task->prompt_);
    tasks_.push_back(task);
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
  task.claim_ = {};
  task.end(std::move(outcome));
  task.own_sequence_.reset();
  ++n_ended_;
  {
    const std::lock_guard lock(mutex_);
    --n_tasks_;
  }
  task.is_done_.store(true, std::memory_order_release);  // its owner may delete it now
}

void Scheduler::rank(Clock::time_point now) {
  for (Task* const task : tasks_) {
    task->urgency_ = task->work_.priority;
    if (now - task->waits_since_ > kPatience)
      task->urgency_ = std::min(task->urgency_, Priority::interactive);
  }
  // Who computes what a more urgent one waits for is as urgent.
  for (const Task* const task : tasks_) {
    if (task->stage_ != Task::Stage::waiting || !is_waiting_for_prefix(*task)) continue;
    for (Task* const earlier : tasks_) {
      if (earlier->order_ < task->order_ && earlier->stage_ == Task::Stage::prompt)
        earlier->urgency_ = std::min(earlier->urgency_, task->urgency_);
    }
  }
  std::ranges::sort(tasks_, {}, [](const Task* task) { return std::pair(task->urgency_, task->order_); });
}

bool Scheduler::is_waiting_for_prefix(const Task& task) const {
  if (task.has_begun_ || task.prompt_.size() < 2) return false;
  const auto known = std::span(task.prompt_).first(task.prompt_.size() - 1);
  return context_.tree().wait(known, &task.claim_, milliseconds(0), [] { return false; }) !=
         PrefixWait::ready;
}

void Scheduler::admit(Task& task) {
  if (is_waiting_for_prefix(task)) return;
  if (!task.sequence_) {
    auto opened = Sequence::open(task.context_);
    if (!opened) return;  // until another one is closed
    task.own_sequence_ = *std::move(opened);
    task.sequence_ = task.own_sequence_.get();
  }
  Sequence& sequence = *task.sequence_;
  if (task.has_begun_) {  // its memory was given away
    if (!has_pages_for(sequence) && is_anybody_at_work()) return;
    sequence.take_known(nullptr, task.n_outputs_);
  } else if (!task.prompt_.empty()) {
    sequence.begin(task.prompt_, &task.claim_);
  }
  task.has_begun_ = true;
  task.stage_ = !task.prompt_.empty() || sequence.n_missing() > kMostAnswerTokens ? Task::Stage::prompt
                                                                                  : Task::Stage::answering;
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
bool Scheduler::fail_all(const Error& error) {
  const std::vector<Task*> tasks = tasks_;
  for (Task* const task : tasks) {
    if (task->sequence_ && task->has_begun_) task->sequence_->failed();
    end(*task, tl::unexpected(error));
  }
  return true;
}

// What answers that wish for it may say next, by the first drafter that has something to propose for each.
Result<void> Scheduler::propose() {
  if (proposers_.empty()) return {};
  struct Wanted {
    Task* task;
    Task::DraftWish wish;
    int64_t limit;
    DraftJob job;
  };
  std::vector<Wanted> wanted;
  int64_t n_rows = 0;
  for (Task* const task : tasks_) {
    if (task->stage_ != Task::Stage::answering || task->is_held_up() || task->sequence_->n_missing() == 0)
      continue;
    n_rows += task->sequence_->n_missing();
    Sequence& sequence = *task->sequence_;
    const Task::DraftWish wish = task->draft_wish();
    const int64_t n_room = context_.options().n_ctx - sequence.n_tokens();
    const int64_t limit = std::min({wish.most, context_.options().n_draft, n_room});
    if (limit < 1 || sequence.n_missing() != 1 || context_.state_bytes() > 0) continue;
    wanted.push_back(
        {task, wish, limit, {&sequence, 0, wish.least_probability, task->work_.cancellation, {}}});
  }
  for (Proposer& proposer : proposers_) {
    std::vector<DraftJob*> jobs;
    for (auto& [task, wish, limit, job] : wanted) {
      if (!job.tokens.empty()) continue;
      job.most = wish.is_required
                     ? limit
                     : proposer.length.choose(draft_costs_, n_rows - 1, limit, proposer.drafter->computes());
      if (job.most >= std::max<int64_t>(wish.least, 1)) jobs.push_back(&job);
    }
    if (jobs.empty()) continue;
    const Clock::time_point start = Clock::now();
    PARLANCE_CHECK(proposer.drafter->draft(jobs));
    if (proposer.drafter->computes())
      draft_costs_.note_draft(std::ssize(jobs), ms_between(start, Clock::now()));
    for (auto& [task, wish, limit, job] : wanted) {
      if (std::ssize(job.tokens) < std::max<int64_t>(wish.least, 1)) {
        job.tokens.clear();
      } else if (std::ranges::find(jobs, &job) != jobs.end()) {
        task->take_draft(job.tokens, proposer.length);
      }
    }
  }
  return {};
}

// Answers first, each with the few tokens that it has; then prompts, as much of them as fits.
std::vector<Scheduler::Piece> Scheduler::form_batch() {
  std::vector<Piece> pieces;
  int64_t n_rows = context_.options().n_batch, n_outputs = context_.options().n_outputs;
  bool has_kind = false, wants_logits = true;
  const auto add = [&](Task& task, int64_t n) {
    const Sequence& sequence = *task.sequence_;
    const int64_t first_output = sequence.n_tokens() - task.n_outputs_;
    const int64_t end = sequence.n_computed() + n;
    const int64_t n_wanted = std::max<int64_t>(0, end - std::max(sequence.n_computed(), first_output));
    n -= std::max<int64_t>(0, n_wanted - n_outputs);  // the rest of the outputs in the next step
    const Piece piece{&task,
                      {task.sequence_, n, std::min(n_wanted, n_outputs)},
                      task.stage_ == Task::Stage::prompt,
                      task.urgency_};
    if (n <= 0 || (has_kind && wants_logits != task.wants_logits_)) return;
    if (!prepare(piece, pieces)) return;
    has_kind = true;
    wants_logits = task.wants_logits_;
    pieces.push_back(piece);
    n_rows -= n;
    n_outputs -= piece.slice.n_outputs;
  };
  const auto is_ready = [](const Task& task, Task::Stage stage) {
    return task.stage_ == stage && !task.is_held_up() && task.sequence_->n_missing() > 0;
  };

  const std::vector<Task*> tasks = tasks_;  // some may end for lack of memory
  const auto is_there = [&](Task* task) { return std::ranges::find(tasks_, task) != tasks_.end(); };
  for (Task* const task : tasks) {
    if (is_there(task) && is_ready(*task, Task::Stage::answering))
      add(*task, std::min(task->sequence_->n_missing(), n_rows));
  }
  for (Task* const task : tasks) {
    if (n_rows <= 0) break;
    if (!is_there(task) || !is_ready(*task, Task::Stage::prompt)) continue;
    int64_t n_running = 0, n_prompt = 0;
    bool is_awaited = false;  // by an answer that is as urgent
    for (const Piece& piece : pieces) {
      (piece.is_prompt ? n_prompt : n_running) += piece.slice.n_tokens;
      is_awaited |= !piece.is_prompt && piece.urgency <= task->urgency_;
    }
    if (!is_awaited) n_running = 0;
    const int64_t n_batch = context_.options().n_batch;
    const Sequence& sequence = *task->sequence_;
    int64_t n = std::min(n_rows, times_.allowance(n_running, n_batch) - n_prompt);
    // Alone, a text is cut in the same places however much of it was known.
    if (n_running == 0) n = std::min(n, n_batch - sequence.n_computed() % n_batch);
    n = sequence.n_until_cut(std::min(n, sequence.n_missing()));
    if (n > 0) add(*task, n);
  }
  return pieces;
}

// Memory for the piece. Who is less urgent, or came later, gives up its own for it; when nobody can, the
// piece has to wait until another task ends.
bool Scheduler::prepare(const Piece& piece, std::vector<Piece>& chosen) {
  while (!runner_.prepare(piece.slice)) {
    piece.slice.sequence->failed();
    Task* const victim = least_urgent(*piece.task);
    if (victim) {
      preempt(*victim, chosen);
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
    return &task != &than && task.stage_ != Task::Stage::waiting && task.sequence_->n_computed() > 0;
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

void Scheduler::preempt(Task& task, std::vector<Piece>& chosen) {
  std::erase_if(chosen, [&](const Piece& piece) { return piece.task == &task; });
  task.sequence_->give_up_memory();
  task.begin_again();
  task.stage_ = Task::Stage::waiting;
  const std::lock_guard lock(mutex_);
  ++stats_.n_preemptions;
}

void Scheduler::run(std::span<const Piece> pieces) {
  const Clock::time_point start = Clock::now();
  std::vector<Slice> slices;
  std::vector<Cancellation> tickets;
  int64_t n_running = 0, n_prompt = 0;
  for (const Piece& piece : pieces) {
    slices.push_back(piece.slice);
    tickets.push_back(piece.task->work_.cancellation);
    (piece.is_prompt ? n_prompt : n_running) += piece.slice.n_tokens;
  }
  const Result<bool> done = runner_.run(slices, pieces.front().task->wants_logits_, tickets);
  if (!done || !*done) {
    for (const Piece& piece : pieces) piece.slice.sequence->failed();
    for (const Piece& piece : pieces) {
      if (!done) end(*piece.task, tl::unexpected(done.error()));
    }
    return;
  }
  const Clock::time_point now = Clock::now();
  const double ms = ms_between(start, now);
  times_.note(n_running, n_prompt, ms);
  if (n_prompt == 0) draft_costs_.note_step(n_running, ms);
  {
    const std::lock_guard lock(mutex_);
    ++stats_.n_steps;
    stats_.n_tokens += static_cast<uint64_t>(n_running + n_prompt);
  }
  std::span<const float> outputs = runner_.outputs();
  int64_t n_outputs = 0;
  for (const Slice& slice : slices) n_outputs += slice.n_outputs;
  const size_t row = n_outputs > 0 ? outputs.size() / static_cast<size_t>(n_outputs) : 0;
  for (const Piece& piece : pieces) {
    const std::span<const float> rows = outputs.first(row * static_cast<size_t>(piece.slice.n_outputs));
    outputs = outputs.subspan(rows.size());
    piece.task->waits_since_ = now;
    deliver(piece, rows);
  }
}

Result<void> Scheduler::keep_states(Sequence& sequence) {
  PARLANCE_TRY(StateCopy states, runner_.save_states(sequence));
  sequence.add_snapshot(std::move(states));
  return {};
}

void Scheduler::deliver(const Piece& piece, std::span<const float> rows) {
  Task& task = *piece.task;
  Sequence& sequence = *task.sequence_;
  sequence.computed(piece.slice.n_tokens);
  if (sequence.wants_snapshot()) {
    if (const Result<void> kept = keep_states(sequence); !kept) return end(task, kept);
  }
  if (!all_finite(rows)) {
    return end(
        task, fail(ErrorCode::corrupt_file,
                   "{}: what the model computed up to token {} is not a number; its file is damaged, or the "
                   "KV cache's format is too coarse for it: use {}",
                   context_.model().file().name(), sequence.n_computed(), set_to(Parameter::cache, "exact")));
  }
  if (piece.slice.n_outputs > 0) task.take(rows, piece.slice.n_outputs);
  if (sequence.n_missing() > 0) return sequence.remember_pages();
  if (task.stage_ == Task::Stage::prompt) {
    sequence.remember();  // others may begin like this, and end inside the last page
    task.claim_ = {};
    task.stage_ = Task::Stage::answering;
  }
  const bool has_more = task.computed();
  sequence.remember_pages();  // not before what was drafted has been taken or not
  if (!has_more) return end(task, sequence.wants_last_snapshot() ? keep_states(sequence) : Result<void>());
  if (sequence.n_missing() > kMostAnswerTokens) task.stage_ = Task::Stage::prompt;
}

}  // namespace parlance
