// Which sequences are computed next, in one step after the other. Tasks are posted from any thread; whose
// turn it is (turns.h) forms batches and runs them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "engine/layer_times.h"
#include "engine/proposals.h"
#include "engine/runner.h"
#include "engine/step_plan.h"
#include "engine/step_times.h"
#include "engine/task.h"
#include "engine/turns.h"

namespace parlance {

// A step that was made, or a piece of a prompt that was brought through all layers between others.
struct StepReport {
  int64_t n_rows = 0, n_sequences = 0;
  double ms = 0;  // without what was computed in between
};

struct SchedulerStats {
  uint64_t n_steps = 0;
  uint64_t n_tokens = 0;       // rows of these steps
  uint64_t n_whole_rows = 0;   // outputs of which all logits were brought to the host
  uint64_t n_ahead = 0;        // rows that were queued before it was known what tokens they have
  uint64_t n_in_vain = 0;      // the same, of which these turned out to be others, or nobody wanted them
  uint64_t n_preemptions = 0;  // sequences whose memory was given to more urgent ones
  int64_t n_tasks = 0;         // now
  double draft_ms = 0;         // that drafters took
  double verify_ms = 0;        // steps in which there were drafted tokens
  // Of one priority, now.
  struct Queue {
    int64_t n_running = 0, n_waiting = 0;
    double oldest_s = 0;     // how long the first of those that wait has waited
    double most_idle_s = 0;  // for how long nothing of it was computed, at most, while somebody wanted it
  };
  std::array<Queue, 3> queues = {};  // by Priority
};

// Urgent tasks go first, those that came first before others; running answers before prompts of their
// urgency. A step has as many rows as the context's n_batch. Of prompts, running answers that are as urgent
// are beside no more than they can bear: where a pass through the layers can pause, some layers of a larger
// piece between two of their steps (LayerTimes), else a few tokens in each (StepTimes). Where nothing of a
// priority was computed for long, the first of it goes before all others for a while, so that none starves.
// When pages or sequences run out, the least urgent and latest task gives up its own and computes its text
// again later.
class Scheduler {
 public:
  // Tokens that a running answer may add to a step: one, or a draft that is verified. What has more is a
  // prompt.
  static constexpr int64_t kMostAnswerTokens = 32;

  explicit Scheduler(Context& context);
  // Tasks that are left end as cancelled.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Takes a task, which must live until it is done. Error: busy, when too many that are as urgent wait
  // already.
  Result<void> post(Task& task);

  // Returns when `is_over` says so, which is asked after each step and under no lock; computes meanwhile, if
  // nobody else does.
  void wait(FunctionRef<bool()> is_over) { turns_.wait(is_over); }

  // From now on steps are made by a thread of the scheduler's own, for tasks that nobody waits for.
  void start() { turns_.start(); }

  // Is told of every step, on the thread that computes; must not wait for anything. Before the first task.
  void watch(std::function<void(const StepReport&)> on_step) { on_step_ = std::move(on_step); }

  // Ends a task that was posted and waits for a sequence of its own, at once, also in the middle of a step;
  // on this thread. False: it has begun, or ended, and the next step sees that nobody wants it.
  bool withdraw(Task& task);

  // Something has changed that the scheduler cannot see: a task is no longer held up.
  void wake() { turns_.wake(); }

  // One step on this thread. False when there was nothing to do. For tests, instead of waiting.
  bool step();

  // While it lives, no step is made: who holds it may use the runner and the devices.
  class Pause {
   public:
    explicit Pause(Scheduler& scheduler) : scheduler_(scheduler) { scheduler.turns_.pause(); }
    ~Pause() { scheduler_.turns_.resume(); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    Runner& runner() const { return scheduler_.runner_; }

   private:
    Scheduler& scheduler_;
  };

  SchedulerStats stats() const;

 private:
  using Clock = std::chrono::steady_clock;

  Turns::Progress compute();
  Result<void> propose();
  void take_posted();
  void let_pass(const Task& task);
  void end_unwanted(Clock::time_point now);
  void rank(Clock::time_point now);
  void favour_the_starving(Clock::time_point now);
  void note_served(const Task& task, Clock::time_point begun, Clock::time_point now);
  void admit(Task& task);
  bool give_sequence(Task& task);
  Task* least_urgent_with_sequence(const Task& than) const;
  bool deliver_known();
  bool is_waiting_for_prefix(const Task& task) const;
  bool is_anybody_at_work() const;
  bool has_pages_for(const Sequence& sequence) const;
  bool is_at(const Task* task, Task::Stage stage) const;
  std::vector<Task*> ready(Task::Stage stage) const;
  StepPlan plan_step();
  struct Portion {  // of time, between two steps of answers
    Clock::time_point begun;
    int64_t n_others;      // sequences of these
    double ms = 0;         // that it may last
    int64_t n_layers = 0;  // that were computed in it
  };
  bool go_on_with_prompts();
  bool has_time_for(const Task& task, const Portion& portion) const;
  bool begin_piece(Task& task, double portion_ms);
  bool run_layers(Task& task, Portion& portion);
  void drop_paused(Task& task);
  void add(StepPlan& plan, Task& task, int64_t n);
  bool prepare(const StepPlan::Piece& piece, StepPlan& plan);
  Task* least_urgent(const Task& than) const;
  void preempt(Task& task, StepPlan& plan);
  void take_memory(Task& task);
  void run(const StepPlan& plan);
  bool run_ahead();
  std::optional<StepPlan::Piece> piece_ahead(const Runner::AheadRow& row) const;
  std::vector<TokenDraw> draws_of(std::span<const StepPlan::Piece> pieces);
  void take_outputs(std::span<const StepPlan::Piece> pieces, const Result<bool>& done,
                    Clock::time_point start);
  void note(std::span<const StepPlan::Piece> pieces, double ms);
  void note_queues(Clock::time_point now);
  void fail_all(const Error& error);
  Result<void> keep_states(Sequence& sequence);
  void count_step(int64_t n_rows);
  void deliver(const StepPlan::Piece& piece, int64_t n_before, int64_t n_all);
  Result<void> give_outputs(const StepPlan::Piece& piece, int64_t n_before, int64_t n_all);
  Result<void> give_top(Task& task, TopRows rows);
  Result<void> not_a_number(const Sequence& sequence) const;
  void go_on(Task& task);
  void end(Task& task, Result<void> outcome);

  Context& context_;
  Runner runner_;
  std::function<void(const StepReport&)> on_step_;

  mutable std::mutex mutex_;  // of what follows
  std::vector<Task*> posted_;
  std::array<int64_t, 3> n_tasks_ = {};  // posted or at work, by Priority
  SchedulerStats stats_;

  // Held by whoever makes a step, except while devices compute: tasks that wait can then be withdrawn. Is
  // taken before the other one.
  std::mutex lists_;
  class Computing {
   public:
    explicit Computing(std::mutex& lists) : lists_(lists) { lists_.unlock(); }
    ~Computing() { lists_.lock(); }
    Computing(const Computing&) = delete;
    Computing& operator=(const Computing&) = delete;

   private:
    std::mutex& lists_;
  };

  // Of whoever makes a step.
  std::vector<Task*> tasks_;            // in the order in which they go
  const Task* kept_waiting_ = nullptr;  // a prompt that had no room in the last step, and may be gone
  StepTimes times_;
  LayerTimes layer_times_;
  struct Answered {  // in the last step
    int64_t n_rows = 0, n_sequences = 0;
    Priority urgency = Priority::background;  // of the most urgent
    bool had_prompts = false;                 // beside them
  };
  Answered answered_;
  struct Service {                 // of one priority
    Clock::time_point last = {};   // when something of it was computed, or it began to be wanted
    Clock::time_point until = {};  // for so long it is favoured
    double most_idle_s = 0;
    bool is_wanted = false;
  };
  std::array<Service, 3> services_ = {};
  Clock::time_point step_end_ = {};  // when the last step's outputs were there
  Clock::duration step_time_ = {};   // that it took
  const Task* favoured_ = nullptr;   // goes before all others in this step
  Proposals proposals_;
  uint64_t n_arrived_ = 0;
  size_t n_ended_ = 0;    // in this step
  bool is_full_ = false;  // in this step, no sequence could be opened any more

  Turns turns_{[this] { return compute(); }};  // ends first
};

}  // namespace parlance
