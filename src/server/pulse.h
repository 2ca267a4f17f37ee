// Whether what computes is still alive: it gets on, or has nothing to do.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace parlance {

class Pulse {
 public:
  using Clock = std::chrono::steady_clock;

  // About once a second, from one thread: whether there is something to be computed, how many steps were made
  // so far, and the time of all processors for this process. A step may last for minutes; then processors are
  // at work.
  void note(bool is_wanted, uint64_t n_steps, double processor_s, Clock::time_point now = Clock::now()) {
    const bool is_at_work = processor_s - processor_s_ > kLeastShare * since(noted_, now);
    if (!is_wanted || n_steps != n_steps_ || is_at_work) alive_ = now;
    noted_ = now;
    n_steps_ = n_steps;
    processor_s_ = processor_s;
  }

  // Since there was a sign of life. From any thread.
  std::chrono::milliseconds silence(Clock::time_point now = Clock::now()) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - alive_.load());
  }

 private:
  static constexpr double kLeastShare = 0.5;  // of one processor, that no idle process takes

  static double since(Clock::time_point then, Clock::time_point now) {
    return std::chrono::duration<double>(now - then).count();
  }

  std::atomic<Clock::time_point> alive_{Clock::now()};
  Clock::time_point noted_ = Clock::now();
  uint64_t n_steps_ = 0;
  double processor_s_ = 0;
};

}  // namespace parlance
