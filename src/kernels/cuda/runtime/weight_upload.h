// Copies weights from mapped files to a GPU: threads fill one page-locked buffer while the GPU reads the
// other.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "kernels/cuda/runtime/memory.h"

namespace parlance::cuda {

class WeightUpload {
 public:
  WeightUpload(int index, std::string device) : index_(index), device_(std::move(device)) {}
  ~WeightUpload();
  WeightUpload(const WeightUpload&) = delete;
  WeightUpload& operator=(const WeightUpload&) = delete;

  // Returns when the bytes are on the GPU, so that every stream sees them.
  Result<void> copy(std::byte* dst, std::span<const std::byte> bytes);

 private:
  struct Stage {
    PinnedMemory memory;
    cudaEvent_t is_free = nullptr;  // the GPU has read the memory
  };

  Result<void> prepare();
  void fill(std::byte* stage, std::span<const std::byte> bytes);

  int index_;
  std::string device_;
  std::mutex mutex_;  // weights may be loaded from several threads
  cudaStream_t stream_ = nullptr;
  std::array<Stage, 2> stages_;
  std::optional<ThreadPool> pool_;
  bool is_prepared_ = false;
};

}  // namespace parlance::cuda
