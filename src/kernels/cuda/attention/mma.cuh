// Tensor core steps of attention, for either 16-bit float.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/matmul/mma.cuh"

namespace parlance::cuda::attention {

// c += a b for 16 elements along k.
template <class Half>
__device__ inline void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (std::is_same_v<Half, __half>) {
    multiply_add_f16(c, a, b0, b1);
  } else {
    multiply_add_bf16(c, a, b0, b1);
  }
}

// load_matrices() of 8 x 8 elements of 16 bits, each matrix transposed.
__device__ inline void load_transposed(uint32_t (&m)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(shared_address(row))
               : "memory");
}

// Two numbers as pairs of 16-bit floats: rounded, and what the rounding leaves out. Together they have at
// least 16 bits of mantissa.
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

}  // namespace parlance::cuda::attention
