// Asynchronous copies from global to shared memory in pieces of 16 bytes.
#pragma once

#include <cstdint>

namespace parlance::cuda {

inline constexpr int kPieceBytes = 16;

__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// True for one lane of a warp whose lanes are all here, from compute capability 9.0 on. The compiler knows
// that it is one: where it cannot know, bulk copies and those of boxes are in a loop over all that may be
// there.
__device__ inline bool is_elected() {
  uint32_t is_this;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(is_this));
  return is_this != 0;
}

// An address in shared memory, in a register: where something declared there lies would be worked out anew
// for each use, from which block of a cluster this is.
template <class T>
__device__ T* kept_pointer(T* shared) {
  asm volatile("" : "+l"(shared));
  return shared;
}

// One piece, of which the first n_bytes (0..16) are read and the rest is zero. Both addresses are multiples
// of 16.
__device__ inline void copy_piece(void* shared, const void* global, int n_bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(n_bytes)
               : "memory");
}

__device__ inline void copy_piece(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global)
               : "memory");
}

// Ends a group of copies; each thread waits for its own groups.
__device__ inline void end_copy_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int n_pending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(n_pending) : "memory");
}

// Until the oldest of n_stages is there, one group of copies each, of which there are kMostStagesOfCopies at
// most.
inline constexpr int kMostStagesOfCopies = 4;
__device__ inline void wait_for_oldest(int n_stages) {
  switch (n_stages) {
    case 1:
      return wait_for_copies<0>();
    case 2:
      return wait_for_copies<1>();
    case 3:
      return wait_for_copies<2>();
    default:
      return wait_for_copies<kMostStagesOfCopies - 1>();
  }
}

// Room in shared memory for n bytes that begin at any even address.
__host__ __device__ constexpr int staged_bytes(int n) {
  return (n + kPieceBytes - 2 + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
}

// Bytes between the last multiple of 16 and p: a staged copy keeps them, so that global addresses need no
// alignment.
__device__ inline int bytes_past_piece(const uint8_t* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) % kPieceBytes);
}

// Copies n bytes (up to most_bytes) at p to the same distance from a piece in `stage`, with n_lanes threads;
// whole pieces from the one that holds p to the last one, zeros behind the n bytes.
template <int most_bytes, int n_lanes>
__device__ inline void stage_bytes(uint8_t* stage, const uint8_t* p, int n, int lane) {
  const int before = bytes_past_piece(p);
  const uint8_t* first = p - before;
#pragma unroll
  for (int i = 0; i < staged_bytes(most_bytes); i += n_lanes * kPieceBytes) {
    const int at = i + lane * kPieceBytes;
    if (at < before + n) copy_piece(stage + at, first + at, min(kPieceBytes, before + n - at));
  }
}

}  // namespace parlance::cuda
