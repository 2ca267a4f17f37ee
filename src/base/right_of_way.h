// Who may compute when several pipelines share the processors. One at a time does; the others wait their turn
// by rank, the lower number first. Whoever computes gives way, between two pieces of its work, to those of a
// better rank, and goes on when they are done: so that hearing is never held up by speech that is being made.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace parlance {

class RightOfWay {
 public:
  static constexpr int kRanks = 4;  // 0 goes first

  // Waits until nobody computes and nobody of a better rank wants to. Among equals any goes first.
  void enter(int rank) {
    std::unique_lock lock(mutex_);
    take(lock, rank);
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    pass_on();
  }

  // By who has entered: lets everybody of a better rank go first. Costs a load when there is nobody.
  void give_way(int rank) {
    if ((waiting_.load(std::memory_order_relaxed) & better_than(rank)) == 0) return;
    std::unique_lock lock(mutex_);
    pass_on();
    take(lock, rank);
  }

 private:
  static constexpr uint32_t better_than(int rank) { return (uint32_t{1} << rank) - 1; }

  void take(std::unique_lock<std::mutex>& lock, int rank) {
    Queue& queue = queues_[static_cast<size_t>(rank)];
    if (queue.n_waiting++ == 0) waiting_ |= uint32_t{1} << rank;
    queue.may_go.wait(lock, [&] { return !is_taken_ && (waiting_ & better_than(rank)) == 0; });
    if (--queue.n_waiting == 0) waiting_ &= ~(uint32_t{1} << rank);
    is_taken_ = true;
  }

  void pass_on() {
    is_taken_ = false;
    for (Queue& queue : queues_) {
      if (queue.n_waiting > 0) return queue.may_go.notify_one();
    }
  }

  struct Queue {
    std::condition_variable may_go;
    int n_waiting = 0;
  };

  std::mutex mutex_;
  bool is_taken_ = false;
  std::array<Queue, kRanks> queues_;
  std::atomic<uint32_t> waiting_{0};  // a bit for each rank that somebody waits in; written under the mutex
};

}  // namespace parlance
