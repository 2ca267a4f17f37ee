#include "base/thread_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <deque>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

#include "base/os/thread.h"

namespace parlance {

namespace {

// How long an idle thread polls before it sleeps: longer than the gap between two operations of a step,
// shorter than anything that a user or another program would notice.
constexpr std::chrono::microseconds kSpinTime{200};
constexpr int kPollsPerClockRead = 16;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls until is_ready(); false when spin_time passed first.
template <class Condition>
bool spin(std::chrono::microseconds spin_time, Condition is_ready) {
  const auto deadline = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < kPollsPerClockRead; ++i) {
      if (is_ready()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return is_ready();
}

// The tasks of a job that nobody has taken yet and that one thread takes first: [begin, end), both halves of
// one word, so that a task is taken in one step. The owner takes from the front and goes through its tasks in
// order, as memory likes to be read; others take from the back.
class alignas(64) TaskRange {
 public:
  // Only while the range is empty. Makes visible what the caller wrote before.
  void fill(uint32_t begin, uint32_t end) { ends_.store(pack(begin, end), std::memory_order_release); }

  bool take_front(int64_t& task) {
    uint64_t old = ends_.load(std::memory_order_relaxed);
    while (begin_of(old) < end_of(old)) {
      if (replace(old, pack(begin_of(old) + 1, end_of(old)))) {
        task = begin_of(old);
        return true;
      }
    }
    return false;
  }

  bool take_back(int64_t& task) {
    uint64_t old = ends_.load(std::memory_order_relaxed);
    while (begin_of(old) < end_of(old)) {
      if (replace(old, pack(begin_of(old), end_of(old) - 1))) {
        task = end_of(old) - 1;
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr uint64_t pack(uint32_t begin, uint32_t end) {
    return static_cast<uint64_t>(begin) | static_cast<uint64_t>(end) << 32;
  }
  static constexpr uint32_t begin_of(uint64_t ends) { return static_cast<uint32_t>(ends); }
  static constexpr uint32_t end_of(uint64_t ends) { return static_cast<uint32_t>(ends >> 32); }
  bool replace(uint64_t& old, uint64_t ends) {
    return ends_.compare_exchange_weak(old, ends, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> ends_{0};
};

}  // namespace

// A job is published by filling the threads' ranges. Whoever takes a task from one owns it, and the job
// cannot end before that task is counted off `unfinished`; so a worker that wakes late either finds no task,
// or one of a newer job, which it may serve as well.
struct ThreadPool::State {
  enum Signal : int32_t { idle, work, sleeping, stop };  // to a worker

  struct alignas(64) Worker {
    std::atomic<int32_t> signal{idle};
    std::thread thread;
  };

  std::chrono::microseconds spin_time{0};
  std::deque<Worker> workers;
  std::deque<TaskRange> ranges;  // of the caller, then of the workers

  alignas(64) std::atomic<int64_t> unfinished{0};
  std::atomic<int32_t> caller_sleeps{0};
  // Written by the caller before the ranges are, read by owners of a task only.
  const FunctionRef<void(int64_t, int)>* task = nullptr;

  // Shares tasks [0, n_tasks) out to the first n_threads threads, in consecutive pieces.
  void publish(int64_t n_tasks, int64_t n_threads) {
    unfinished.store(n_tasks, std::memory_order_relaxed);
    for (int64_t i = 0; i < n_threads; ++i) {
      ranges[static_cast<size_t>(i)].fill(static_cast<uint32_t>(i * n_tasks / n_threads),
                                          static_cast<uint32_t>((i + 1) * n_tasks / n_threads));
    }
  }

  // A task of this thread's range, else of the next one that has any.
  bool take(size_t thread, int64_t& index) {
    if (ranges[thread].take_front(index)) return true;
    for (size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[(thread + i) % ranges.size()].take_back(index)) return true;
    }
    return false;
  }

  // Runs tasks until there are none; true when this thread finished the last one of the job.
  bool serve(int thread) {
    int64_t served = 0;
    for (int64_t index; take(static_cast<size_t>(thread), index); ++served) (*task)(index, thread);
    return served > 0 && unfinished.fetch_sub(served) == served;
  }

  void run_worker(std::atomic<int32_t>& signal, int thread) {
    for (;;) {
      if (!spin_while(signal, idle)) {
        int32_t expected = idle;
        if (signal.compare_exchange_strong(expected, sleeping)) signal.wait(sleeping);
      }
      // Back to idle before the first task is taken, so that a job published meanwhile is not missed.
      if (signal.exchange(idle) == stop) return;
      if (serve(thread) && caller_sleeps.load() != 0) wake_caller();
    }
  }

  static void send(Worker& worker, Signal signal) {
    if (worker.signal.exchange(signal) == sleeping) worker.signal.notify_one();
  }

  // The worker looks at caller_sleeps after its last task is counted, the caller at the count after saying
  // that it sleeps: one of them sees the other. A worker that comes late wakes the caller of a newer job for
  // nothing. Both say it by exchanging: qemu on x86 lets a load pass a plain store of the guest, whatever its
  // order, and neither would see the other.
  void await_completion() {
    if (spin_until_finished()) return;
    for (;;) {
      caller_sleeps.exchange(1);
      if (unfinished.load() == 0) break;
      caller_sleeps.wait(1);
    }
    caller_sleeps.store(0);
  }

  void wake_caller() {
    caller_sleeps.exchange(0);
    caller_sleeps.notify_one();
  }

  bool spin_while(const std::atomic<int32_t>& signal, int32_t old) const {
    return spin(spin_time, [&] { return signal.load(std::memory_order_acquire) != old; });
  }

  bool spin_until_finished() const {
    return spin(spin_time, [&] { return unfinished.load(std::memory_order_acquire) == 0; });
  }
};

ThreadPool::ThreadPool(int n_threads, bool pin) : state_(std::make_unique<State>()) {
  std::vector<int> processors = usable_processors();
  if (pin) processors = processors_by_core(processors);
  const bool has_processor_each = n_threads <= static_cast<int>(processors.size());
  // Threads that share a processor would take it from each other by polling.
  if (has_processor_each) state_->spin_time = kSpinTime;
  // All ranges first: a worker looks at those of threads that are started after it.
  state_->ranges.resize(static_cast<size_t>(std::max(n_threads, 1)));
  for (int thread = 1; thread < n_threads; ++thread) {
    State::Worker& worker = state_->workers.emplace_back();
    try {
      worker.thread = std::thread(
          [state = state_.get(), &signal = worker.signal, thread] { state->run_worker(signal, thread); });
    } catch (
        const std::system_error&) {  // the system's limit on threads: n_threads() tells how many there are
      state_->workers.pop_back();
      break;
    }
    name_thread(worker.thread, fmt::format("parlance-{}", thread));
    if (pin && has_processor_each) bind_thread(worker.thread, processors[static_cast<size_t>(thread)]);
  }
}

ThreadPool::~ThreadPool() {
  for (State::Worker& worker : state_->workers) State::send(worker, State::stop);
  for (State::Worker& worker : state_->workers) worker.thread.join();
}

int ThreadPool::n_threads() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void ThreadPool::run(int64_t n_tasks, FunctionRef<void(int64_t task, int thread)> task) {
  State& state = *state_;
  const int64_t n_helpers = std::min<int64_t>(static_cast<int64_t>(state.workers.size()), n_tasks - 1);
  if (n_helpers <= 0) {
    for (int64_t i = 0; i < n_tasks; ++i) task(i, 0);
    return;
  }
  assert(n_tasks <= std::numeric_limits<uint32_t>::max());
  state.task = &task;
  state.publish(n_tasks, n_helpers + 1);
  for (int64_t i = 0; i < n_helpers; ++i) State::send(state.workers[static_cast<size_t>(i)], State::work);
  if (!state.serve(0)) state.await_completion();
}

}  // namespace parlance
