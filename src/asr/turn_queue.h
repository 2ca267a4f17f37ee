// Who has something that one at a time may use: the more urgent first, and who came first among equals, so
// that nobody who asks again and again keeps the others waiting.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include "engine/work.h"

namespace parlance {

class TurnQueue {
 public:
  // Has it while it lives; waits for that.
  class Turn {
   public:
    Turn(TurnQueue& queue, Priority priority) : queue_(queue) { queue_.enter(priority); }
    ~Turn() { queue_.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    TurnQueue& queue_;
  };

 private:
  void enter(Priority priority) {
    std::unique_lock lock(mutex_);
    const auto place = waiting_.emplace(priority, n_came_++).first;
    may_go_.wait(lock, [&] { return !is_taken_ && place == waiting_.begin(); });
    waiting_.erase(place);
    is_taken_ = true;
  }
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      is_taken_ = false;
    }
    may_go_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable may_go_;
  std::set<std::pair<Priority, uint64_t>> waiting_;  // the order in which they go
  uint64_t n_came_ = 0;
  bool is_taken_ = false;
};

}  // namespace parlance
