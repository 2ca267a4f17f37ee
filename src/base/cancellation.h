// How work is stopped before its end: whoever asks for work takes a ticket and hands it, by value, to every
// call that computes for it; what computes looks at the ticket between two kernels. A ticket is taken when
// the work is wanted, not when it starts, so that no cancel() in between is lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace parlance {

class Cancellation {
 public:
  Cancellation() = default;  // of work that nobody cancels

  // Costs a load, or one for each source above. Once true, it stays so.
  bool cancelled() const {
    if (!generation_) return false;
    return generation_->load(std::memory_order_relaxed) != expected_ || (parent_ && parent_->cancelled());
  }

  // Whether somebody might cancel it.
  explicit operator bool() const { return generation_ != nullptr; }

 private:
  friend class CancellationSource;
  Cancellation(std::shared_ptr<const std::atomic<uint64_t>> generation,
               std::shared_ptr<const Cancellation> parent)
      : generation_(std::move(generation)),
        parent_(std::move(parent)),
        expected_(generation_->load(std::memory_order_relaxed)) {}

  std::shared_ptr<const std::atomic<uint64_t>> generation_;  // tickets outlive their source
  std::shared_ptr<const Cancellation> parent_;
  uint64_t expected_ = 0;
};

class CancellationSource {
 public:
  CancellationSource() = default;
  // Of a part of somebody's work: its tickets are cancelled with that one, too.
  explicit CancellationSource(const Cancellation& whole)
      : whole_(whole ? std::make_shared<const Cancellation>(whole) : nullptr) {}

  // Is cancelled by the next cancel().
  Cancellation ticket() const { return {generation_, whole_}; }

  // Cancels all tickets that were taken so far. From any thread, and from a signal handler.
  void cancel() const { generation_->fetch_add(1, std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  std::shared_ptr<std::atomic<uint64_t>> generation_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::shared_ptr<const Cancellation> whole_;
};

}  // namespace parlance
