#include "kernels/cuda/runtime/memory.h"

namespace parlance::cuda {

Error device_error(std::string_view device, std::string_view doing, cudaError_t code) {
  return {ErrorCode::device_failed,
          fmt::format(
              "{}: {} failed: {}; start the program again, and look at nvidia-smi and the system log if it "
              "comes back",
              device, doing, cudaGetErrorString(code))};
}

CudaBuffer::~CudaBuffer() {
  cudaSetDevice(index_);
  cudaFree(base());  // waits for what still uses the memory; on a lost device there is nothing left to free
}

Result<PinnedMemory> PinnedMemory::allocate(std::string_view device, size_t bytes) {
  void* data = nullptr;
  if (const cudaError_t code = cudaMallocHost(&data, bytes); code != cudaSuccess) {
    cudaGetLastError();
    return fail(
        ErrorCode::out_of_memory,
        "{}: cannot lock {} bytes of host memory for transfers: {}; end other programs or raise the limit "
        "(ulimit -l)",
        device, bytes, cudaGetErrorString(code));
  }
  PinnedMemory memory;
  memory.bytes_.reset(static_cast<std::byte*>(data));
  return memory;
}

}  // namespace parlance::cuda
