// Who may compute when several pipelines share the processors. Those of different ranks do one at a time; the
// others wait their turn by rank, the lower number first. Whoever computes gives way, between two pieces of
// its work, to those of a better rank, and goes on when they are done: so that hearing is never held up by
// speech that is being made. Two of the same rank halve the processors, if these can be halved: on half of
// them a small network takes much less than twice as long.
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

  // What somebody has of the processors. The halves are different ones.
  enum class Share : uint8_t { first_half = 1, second_half = 2, all = 3 };

  explicit RightOfWay(bool can_halve = false) : can_halve_(can_halve) {}

  // Waits until nobody computes, or one of the same rank on half of the processors, and nobody of a better
  // rank wants to. Among equals any goes first.
  Share enter(int rank) {
    std::unique_lock lock(mutex_);
    return take(lock, rank);
  }

  void leave(Share share) {
    const std::lock_guard lock(mutex_);
    pass_on(share);
  }

  // By who has entered: lets everybody of a better rank go first, and says what it has from now on: half when
  // an equal waits, all when there is no other any more. Costs two loads when nothing has changed.
  Share give_way(int rank, Share share) {
    const uint32_t waiting = waiting_.load(std::memory_order_relaxed);
    const bool is_halved = share != Share::all;
    const uint32_t matters = better_than(rank) | (can_halve_ && !is_halved ? bit_of(rank) : 0);
    const bool is_shared = taken_.load(std::memory_order_relaxed) == bits_of(Share::all);
    if ((waiting & matters) == 0 && is_shared) return share;
    std::unique_lock lock(mutex_);
    if ((waiting_ & better_than(rank)) != 0) {
      pass_on(share);
      return take(lock, rank);
    }
    const bool has_equals = (waiting_ & bit_of(rank)) != 0;
    if (!is_halved && can_halve_ && has_equals) {
      taken_ = bits_of(Share::first_half);
      queue_of(rank).may_go.notify_one();
      return Share::first_half;
    }
    if (is_halved && !has_equals && taken_ == bits_of(share)) {
      taken_ = bits_of(Share::all);
      return Share::all;
    }
    return share;
  }

 private:
  struct Queue {
    std::condition_variable may_go;
    int n_waiting = 0;
  };

  static constexpr uint32_t bit_of(int rank) { return uint32_t{1} << rank; }
  static constexpr uint32_t better_than(int rank) { return bit_of(rank) - 1; }
  static constexpr uint32_t bits_of(Share share) { return static_cast<uint32_t>(share); }
  Queue& queue_of(int rank) { return queues_[static_cast<size_t>(rank)]; }

  bool may_go(int rank) const {
    if ((waiting_ & better_than(rank)) != 0) return false;
    return taken_ == 0 || (taken_ != bits_of(Share::all) && rank == rank_);
  }

  Share take(std::unique_lock<std::mutex>& lock, int rank) {
    Queue& queue = queue_of(rank);
    if (queue.n_waiting++ == 0) waiting_ |= bit_of(rank);
    queue.may_go.wait(lock, [&] { return may_go(rank); });
    if (--queue.n_waiting == 0) waiting_ &= ~bit_of(rank);
    rank_ = rank;
    const uint32_t rest = bits_of(Share::all) & ~taken_;
    taken_ = bits_of(Share::all);
    return static_cast<Share>(rest);
  }

  void pass_on(Share share) {
    taken_ &= ~bits_of(share);
    for (Queue& queue : queues_) {
      if (queue.n_waiting > 0) return queue.may_go.notify_one();
    }
  }

  const bool can_halve_;
  std::mutex mutex_;
  int rank_ = 0;  // of those who compute
  std::array<Queue, kRanks> queues_;
  // Written under the mutex: a bit for each rank that somebody waits in, and the halves that somebody has.
  std::atomic<uint32_t> waiting_{0}, taken_{0};
};

}  // namespace parlance
