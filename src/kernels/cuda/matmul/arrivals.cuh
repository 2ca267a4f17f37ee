// Counters in shared memory that threads arrive at and others wait for (mbarrier), from compute
// capability 9.0 on. What a thread has written before it arrives, those see that have waited. Phases follow
// each other, each complete when as many have arrived as the counter was made for.
#pragma once

#include <cstdint>

#include "kernels/cuda/matmul/copy.cuh"
#include "kernels/cuda/runtime/tensor_map.h"

namespace parlance::cuda {

struct Arrivals {
  uint64_t state;

  // Before a barrier of all who use it.
  __device__ void init(unsigned n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&state)), "r"(n) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&state)) : "memory");
  }
  // Arrives when the thread's copies so far (copy_piece()) have ended.
  __device__ void arrive_behind_copies() {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&state))
                 : "memory");
  }
  // Arrives, and has so many bytes copied: both addresses and n_bytes are multiples of 16.
  __device__ void arrive_with(void* shared, const void* global, uint32_t n_bytes) {
    arrive_before(n_bytes);
    copy(shared, global, n_bytes);
  }
  // The same where copies of so many bytes in all follow, by any threads.
  __device__ void arrive_before(uint32_t n_bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&state)),
                 "r"(n_bytes)
                 : "memory");
  }
  __device__ void copy(void* shared, const void* global, uint32_t n_bytes) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(shared)),
        "l"(global), "r"(n_bytes), "r"(shared_address(&state))
        : "memory");
  }
  // A box of a tensor map of three dimensions (runtime/tensor_map.h): piece `piece` of rows from `row` on.
  __device__ void copy_box(void* shared, const CUtensorMap& map, int piece, int row) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
        "%4}], [%5];" ::"r"(shared_address(shared)),
        "l"(&map), "r"(0), "r"(row), "r"(piece), "r"(shared_address(&state))
        : "memory");
  }
  // Whether that phase is complete, as for wait().
  __device__ bool is_complete(int phase) {
    uint32_t is_complete;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(is_complete)
        : "r"(shared_address(&state)), "r"(static_cast<uint32_t>(phase) & 1)
        : "memory");
    return is_complete != 0;
  }
  // For phase `phase`, from 0 on, which is the current one or the one before; that before the first is
  // complete.
  __device__ void wait(int phase) {
    uint32_t is_complete;
    do {
      asm volatile(
          "{\n"
          ".reg .pred p;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p;\n"
          "}"
          : "=r"(is_complete)
          : "r"(shared_address(&state)), "r"(static_cast<uint32_t>(phase) & 1)
          : "memory");
    } while (!is_complete);
  }
};

// Makes counters that one thread arrives at, by a block that then waits for itself.
template <int n>
__device__ void start_arrivals(Arrivals (&arrivals)[n]) {
  if (threadIdx.x == 0) {
    for (Arrivals& there : arrivals) there.init(1);
  }
  __syncthreads();
}

}  // namespace parlance::cuda
