// The CPU's stream: runs every operation at once, its tasks shared by the device's thread pool.
#pragma once

#include "base/thread_pool.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/device.h"

namespace parlance {

class CpuStream final : public Stream {
 public:
  CpuStream(Device& device, ThreadPool& pool) : Stream(device), pool_(pool) {}

  ThreadPool& pool() const { return pool_; }

  void upload(const Tensor& dst, std::span<const std::byte> bytes) override;
  Result<void> download(std::span<std::byte> bytes, const Tensor& src) override;
  void copy(const Tensor& dst, const Tensor& src) override;
  Result<void> synchronize() override { return {}; }

 private:
  ThreadPool& pool_;
};

// The pool that a CPU kernel shares its tasks on.
inline ThreadPool& pool_of(Stream& stream) {
  return static_cast<CpuStream&>(stream).pool();
}

}  // namespace parlance
