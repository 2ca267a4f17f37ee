// Memory of a GPU and page-locked memory of the host, freed with the object.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "tensor/buffer.h"

namespace parlance::cuda {

// The error for a call that failed while `doing` something on a device.
Error device_error(std::string_view device, std::string_view doing, cudaError_t code);

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(int index, std::byte* base, size_t size) : Buffer(base, size), index_(index) {}
  ~CudaBuffer() override;

  // A copy of the weight that the first so many bytes of this buffer are, as products of many rows read it
  // (kept_weights.h); or null. It is of no use for some of the weight's rows: what it holds of each is apart.
  const Buffer* kept() const { return kept_.get(); }
  size_t kept_weight_bytes() const { return kept_weight_bytes_; }
  void keep(std::unique_ptr<Buffer> copy, size_t weight_bytes) {
    kept_ = std::move(copy);
    kept_weight_bytes_ = weight_bytes;
  }

 private:
  int index_;  // of the GPU
  std::unique_ptr<Buffer> kept_;
  size_t kept_weight_bytes_ = 0;
};

// Host memory that the GPU copies from and to without help of the processor.
class PinnedMemory {
 public:
  static Result<PinnedMemory> allocate(std::string_view device, size_t bytes);
  std::byte* data() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { cudaFreeHost(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

}  // namespace parlance::cuda
