// Tensor core instructions for 16-bit floats, as wrappers. Fragments are laid out as the PTX manual defines
// them for mma.m16n8k16: lane l has rows l / 4 and l / 4 + 8, and pairs of columns from 2 * (l % 4) on.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace parlance::cuda {

// c (16 x 8) += a (16 x 16) b (16 x 8).
template <class Half>
__device__ inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (std::is_same_v<Half, __half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// Four 8 x 8 matrices of 16-bit elements; lane l gives the shared address of row l % 8 of matrix l / 8.
__device__ inline void load_matrices(uint32_t (&m)[4], const void* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

// The same, each matrix transposed.
__device__ inline void load_transposed(uint32_t (&m)[4], const void* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

// Two numbers as pairs of 16-bit floats: rounded, and what the rounding leaves out. Together they have about
// the precision of f32.
template <class Half>
__device__ inline void split(float x, float y, uint32_t& rounded, uint32_t& rest) {
  const auto bits_of = [](Half low, Half high) {
    return static_cast<uint32_t>(__builtin_bit_cast(uint16_t, low)) |
           static_cast<uint32_t>(__builtin_bit_cast(uint16_t, high)) << 16;
  };
  const Half x_rounded(x), y_rounded(y);
  rounded = bits_of(x_rounded, y_rounded);
  rest = bits_of(Half(x - static_cast<float>(x_rounded)), Half(y - static_cast<float>(y_rounded)));
}

// Starts a copy of 16 bytes from global to shared memory; zeros when `is_inside` is false.
__device__ inline void copy_async(void* shared, const void* global, bool is_inside) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global),
               "r"(is_inside ? 16 : 0)
               : "memory");
}

// Ends a group of copies.
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Returns when all of this thread's groups but the last have arrived.
__device__ inline void wait_for_all_but_last() {
  asm volatile("cp.async.wait_group 1;" ::: "memory");
}

}  // namespace parlance::cuda
