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

  // A copy of the weight that is all of this buffer, as products of many rows read it (kept_weights.h); or null.
  const Buffer* kept() const { return kept_.get(); }
  void keep(std::unique_ptr<Buffer> copy) { kept_ = std::move(copy); }

 private:
  int index_;  // of the GPU
  std::unique_ptr<Buffer> kept_;
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
