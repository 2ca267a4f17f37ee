// What a kernel's file knows of the stream that it launches on. Free of fmt, which nvcc cannot compile.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace parlance {

class Stream;

namespace cuda {

// What kernels choose their shapes by.
struct Gpu {
  int n_multiprocessors = 0;
  int compute_capability = 0;         // 90 is 9.0
  size_t shared_bytes_per_block = 0;  // the most that a kernel may ask for
  size_t l2_bytes = 0;
  bool is_deterministic = false;  // see DeviceOptions
};

cudaStream_t stream_of(Stream& s);
std::byte* scratch_of(Stream& s);

// Numbers on the GPU that are 0 when a kernel starts, for blocks that count each other; who has counted sets
// them back.
inline constexpr int kCounters = 4096;
int* counters_of(Stream& s);

const Gpu& gpu_of(Stream& s);

// Of the kernel that the next one may start beside; 0 where it follows none.
int64_t blocks_before(Stream& s);

struct Shape {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;  // dynamic
  // Multiprocessors share their memory out between the L1 cache and blocks, as a kernel needs it, and change
  // that when they are idle. With all of it for blocks, the next kernel's can start beside this one's.
  bool takes_most_shared = false;
};

// launch() without the types.
void launch_kernel(Stream& s, const void* kernel, const Shape& shape, void** params);

// Launches a kernel on the stream. From compute capability 9.0 on it may start while the kernel before it
// still runs (programmatic dependent launch), so every kernel calls wait_for_previous() before it reads or
// writes what an earlier one touches, and on every path: the kernel after it relies on this one to have
// waited. Weights are never written, so they may be prefetched before. A refused launch makes the stream
// fail: download() and synchronize() report it.
template <class... Params, class... Args>
void launch(Stream& s, void (*kernel)(Params...), const Shape& shape, Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args));
  std::tuple<Params...> values(std::forward<Args>(args)...);
  std::apply(
      [&](auto&... value) {
        void* params[] = {&value...};
        launch_kernel(s, reinterpret_cast<const void*>(kernel), shape, params);
      },
      values);
}

#ifdef __CUDACC__

// Returns when the kernels before this one have ended and what they wrote can be read.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel may start once every block has called this or ended.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif

}  // namespace cuda
}  // namespace parlance
