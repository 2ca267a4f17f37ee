// The CPU's stream: runs every operation at once, its tasks shared by the device's threads. Streams of
// devices that share these take turns: a step runs alone, or beside one of the same rank on half of the
// threads each, and before each of its operations it gives way to steps of a better rank
// (share_cpu_device()).
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "base/right_of_way.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/device.h"

namespace parlance {

// What streams that take turns have in common.
class Processors {
 public:
  Processors(int n_threads, bool pin) : way(n_threads > 1), all_(n_threads, pin) {}

  int n_threads() const { return all_.n_threads(); }
  // The threads of whoever has this share.
  ThreadPool& pool(RightOfWay::Share share) {
    if (share == RightOfWay::Share::all) return all_;
    std::unique_ptr<ThreadPool>& half = halves_[share == RightOfWay::Share::first_half ? 0 : 1];
    if (!half) half = std::make_unique<ThreadPool>(n_threads() / 2, /*pin=*/false);
    return *half;
  }

  RightOfWay way;

 private:
  ThreadPool all_;
  std::array<std::unique_ptr<ThreadPool>, 2> halves_;  // from when they are first wanted
};

class CpuStream final : public Stream {
 public:
  CpuStream(Device& device, Processors& processors, int rank)
      : Stream(device), processors_(processors), rank_(rank) {}

  // For an operation, which asks once, before it begins.
  ThreadPool& pool() {
    if (n_steps_ > 0) share_ = processors_.way.give_way(rank_, share_);
    return processors_.pool(share_);
  }

  void upload(const Tensor& dst, std::span<const std::byte> bytes) override;
  Result<void> download(std::span<std::byte> bytes, const Tensor& src) override;
  void copy(const Tensor& dst, const Tensor& src) override;
  Result<void> synchronize() override { return {}; }
  void take_memory(std::span<const std::span<std::byte>> stretches) override;
  void on_host(int64_t n_tasks, FunctionRef<void(int64_t task)> task) override;

 protected:
  void run_step(uint64_t, FunctionRef<void()> record) override {
    if (n_steps_++ == 0) share_ = processors_.way.enter(rank_);
    record();
    if (--n_steps_ == 0) processors_.way.leave(std::exchange(share_, RightOfWay::Share::all));
  }

 private:
  Processors& processors_;
  const int rank_;
  int n_steps_ = 0;  // one inside the other
  RightOfWay::Share share_ = RightOfWay::Share::all;
};

// The pool that a CPU kernel shares its tasks on.
inline ThreadPool& pool_of(Stream& stream) {
  return static_cast<CpuStream&>(stream).pool();
}

}  // namespace parlance
