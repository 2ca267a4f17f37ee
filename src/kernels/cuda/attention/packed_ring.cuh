// Keys and values on their way from pages to shared memory, for one warp: runs of rows, one after the other,
// in a ring of stages. From compute capability 9.0 on a single lane has them copied.
#pragma once

#include <cstdint>

#include "kernels/cuda/matmul/copy.cuh"

namespace parlance::cuda::attention {

inline constexpr int kMostStages = 4;

// By whole warps.
class PackedRing {
 public:
  // `bytes`: of all stages of this warp, a multiple of 16 each. `barriers`: kMostStages of this warp.
  __device__ PackedRing(std::byte* bytes, uint64_t* barriers, int n_stages, int stage_bytes)
      : bytes_(shared_address(bytes)),
        barriers_(shared_address(barriers)),
        n_stages_(n_stages),
        stage_bytes_(stage_bytes) {
#if __CUDA_ARCH__ >= 900
    if (lane() == 0) {
      for (int stage = 0; stage < kMostStages; ++stage)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers_ + 8 * stage) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
#endif
  }

  __device__ int n_ahead() const {
    return n_stages_ - 1;
  }

  // What this thread has written to pages can be copied by threads behind a barrier.
  __device__ static void show_to_copies() {
    __threadfence_block();
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
  }

  // Two runs into the next stage, which nobody reads any more. Multiples of 16 bytes and addresses.
  __device__ void copy(const std::byte* first, int first_bytes, const std::byte* second, int second_bytes) {
    const uint32_t to = bytes_ + fill_ * stage_bytes_;
#if __CUDA_ARCH__ >= 900
    if (is_elected()) {
      const uint32_t barrier = barriers_ + 8 * fill_;
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                   "r"(first_bytes + second_bytes)
                   : "memory");
      copy_bytes(to, first, first_bytes, barrier);
      copy_bytes(to + first_bytes, second, second_bytes, barrier);
    }
#else
    copy_pieces(to, first, first_bytes);
    copy_pieces(to + first_bytes, second, second_bytes);
#endif
    fill_ = fill_ + 1 == n_stages_ ? 0 : fill_ + 1;
  }
  // After each copy(), and in its place where there is nothing more.
  __device__ void end_copy() {
#if __CUDA_ARCH__ < 900
    end_copy_group();
#endif
  }

  // The address of the stage that was filled first, when it is there: n_ahead() more may be on their way.
  __device__ uint32_t wait() {
#if __CUDA_ARCH__ >= 900
    uint32_t is_there;
    do {
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(is_there)
          : "r"(barriers_ + 8 * stage_), "r"(parity_)
          : "memory");
    } while (!is_there);
#else
    if (n_stages_ == 1) {
      wait_for_copies<0>();
    } else if (n_stages_ == 2) {
      wait_for_copies<1>();
    } else if (n_stages_ == 3) {
      wait_for_copies<2>();
    } else {
      wait_for_copies<3>();
    }
    __syncwarp();
#endif
    return bytes_ + stage_ * stage_bytes_;
  }
  // It may be filled again.
  __device__ void release() {
    __syncwarp();
    if (++stage_ < n_stages_) return;
    stage_ = 0;
    parity_ ^= 1;
  }

 private:
  __device__ static int lane() {
    return threadIdx.x % 32;
  }

#if __CUDA_ARCH__ >= 900
  __device__ static void copy_bytes(uint32_t to, const std::byte* from, int n, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
        "l"(from), "r"(n), "r"(barrier)
        : "memory");
  }
#else
  __device__ static void copy_pieces(uint32_t to, const std::byte* from, int n) {
    for (int i = lane() * kPieceBytes; i < n; i += 32 * kPieceBytes)
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to + i), "l"(from + i)
                   : "memory");
  }
#endif

  const uint32_t bytes_, barriers_;
  const int n_stages_, stage_bytes_;
  int stage_ = 0, fill_ = 0;
  uint32_t parity_ = 0;
};

}  // namespace parlance::cuda::attention
