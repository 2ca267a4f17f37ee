// Many owners of things on few threads: a strand runs its jobs one after the other, on whichever thread is
// free, and can be woken at a time. One that has nothing to do costs its memory.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace parlance {

class Strands;

// Its jobs may outlive whoever posts them; they end with the strands.
class Strand : public std::enable_shared_from_this<Strand> {
 public:
  using Clock = std::chrono::steady_clock;
  using Job = std::function<void()>;

  // From any thread; jobs run in order. After the end of the strands they are dropped.
  void post(Job job);
  // Runs `job` then, once, in place of one that was to run at another time; without a time, none.
  void wake_at(std::optional<Clock::time_point> time, Job job);

 private:
  friend class Strands;
  struct Core;
  explicit Strand(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  void queue();  // with the core's lock

  const std::shared_ptr<Core> core_;
  // Under the core's lock.
  std::deque<Job> jobs_;
  bool is_queued_ = false;
  std::optional<Clock::time_point> due_;
  Job due_job_;
};

class Strands {
 public:
  explicit Strands(int n_threads);
  ~Strands() { stop(); }
  Strands(const Strands&) = delete;
  Strands& operator=(const Strands&) = delete;

  std::shared_ptr<Strand> make();
  // Jobs that wait are dropped; waits for those that run.
  void stop();

 private:
  std::shared_ptr<Strand::Core> core_;
  std::vector<std::thread> threads_;
};

}  // namespace parlance
