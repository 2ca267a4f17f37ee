// The CPU's stream: runs every operation at once, its tasks shared by the device's thread pool. Streams of
// devices that share a pool take turns: a step runs alone, but before each of its operations it gives way to
// steps of a better rank (share_cpu_device()).
#pragma once

#include "base/right_of_way.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/device.h"

namespace parlance {

class CpuStream final : public Stream {
 public:
  CpuStream(Device& device, ThreadPool& pool, RightOfWay& way, int rank)
      : Stream(device), pool_(pool), way_(way), rank_(rank) {}

  // For an operation, which asks once, before it begins.
  ThreadPool& pool() const {
    if (n_steps_ > 0) way_.give_way(rank_);
    return pool_;
  }

  void upload(const Tensor& dst, std::span<const std::byte> bytes) override;
  Result<void> download(std::span<std::byte> bytes, const Tensor& src) override;
  void copy(const Tensor& dst, const Tensor& src) override;
  Result<void> synchronize() override { return {}; }
  void take_memory(std::span<const std::span<std::byte>> stretches) override;

 protected:
  void run_step(uint64_t, FunctionRef<void()> record) override {
    if (n_steps_++ == 0) way_.enter(rank_);
    record();
    if (--n_steps_ == 0) way_.leave();
  }

 private:
  ThreadPool& pool_;
  RightOfWay& way_;
  const int rank_;
  int n_steps_ = 0;  // one inside the other
};

// The pool that a CPU kernel shares its tasks on.
inline ThreadPool& pool_of(Stream& stream) {
  return static_cast<CpuStream&>(stream).pool();
}

}  // namespace parlance
