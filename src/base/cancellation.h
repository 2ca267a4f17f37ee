// How work is stopped before its end: whoever asks for work takes a ticket and hands it, by value, to every call
// that computes for it; what computes looks at the ticket between two kernels. A ticket is taken when the work
// is wanted, not when it starts, so that no cancel() in between is lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace parlance {

class Cancellation {
 public:
  Cancellation() = default;  // of work that nobody cancels

  // Costs a load. Once true, it stays so.
  bool cancelled() const {
    return generation_ && generation_->load(std::memory_order_relaxed) != expected_;
  }

  // Whether somebody might cancel it.
  explicit operator bool() const { return generation_ != nullptr; }

 private:
  friend class CancellationSource;
  Cancellation(std::shared_ptr<const std::atomic<uint64_t>> generation, uint64_t expected)
      : generation_(std::move(generation)), expected_(expected) {}

  std::shared_ptr<const std::atomic<uint64_t>> generation_;  // tickets outlive their source
  uint64_t expected_ = 0;
};

class CancellationSource {
 public:
  // Is cancelled by the next cancel().
  Cancellation ticket() const { return {generation_, generation_->load(std::memory_order_relaxed)}; }

  // Cancels all tickets that were taken so far. From any thread, and from a signal handler.
  void cancel() const { generation_->fetch_add(1, std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  std::shared_ptr<std::atomic<uint64_t>> generation_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace parlance
