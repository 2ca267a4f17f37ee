// How much is on its way to a client that has not taken it, and who waits for that to become little.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>

namespace parlance {

class Unsent {
 public:
  size_t n_bytes() const { return n_bytes_; }
  void add(size_t n) { n_bytes_ += n; }
  void take(size_t n) { n_bytes_ -= n; }

  // Is called once, by tell().
  void when_taken(std::function<void()> on_taken) {
    const std::lock_guard lock(mutex_);
    on_taken_ = std::move(on_taken);
  }
  // Calls whoever waits, where there is little or `at_any_rate`.
  void tell(size_t n_little, bool at_any_rate) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex_);
      if (at_any_rate || n_bytes_ < n_little) call.swap(on_taken_);
    }
    if (call) call();
  }

 private:
  std::atomic<size_t> n_bytes_{0};
  std::mutex mutex_;
  std::function<void()> on_taken_;
};

}  // namespace parlance
