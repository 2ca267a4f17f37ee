// Tensor core instructions of compute capability 8.0. With lane = 4 * g + i (i below 4), a lane holds of
//   A (16 rows, k)    rows g and g + 8, k from 4 * i bytes of each 16 on: registers (g, first 16 bytes of k),
//                     (g + 8, first), (g, second), (g + 8, second)
//   B (k, 8 columns)  column g: registers (first 16 bytes of k), (second)
//   C (16, 8)         (g, 2 * i), (g, 2 * i + 1), (g + 8, 2 * i), (g + 8, 2 * i + 1)
// Rows of A and columns of B are contiguous along k, so that load_matrices() yields both.
#pragma once

#include <cstdint>

#include "kernels/cuda/matmul/copy.cuh"

namespace parlance::cuda {

// Four matrices of 8 rows of 16 bytes; lane l gives the address of row l % 8 of matrix l / 8. Register m
// receives bytes 4 * (lane % 4).. of row lane / 4 of matrix m.
__device__ inline void load_matrices(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// The row for which a lane gives the address when A (16 rows by 32 bytes) is loaded with one load_matrices(),
// and the byte in it; `stride` bytes lie between rows.
__device__ inline int offset_in_a(int lane, int stride) {
  return lane % 16 * stride + lane / 16 * 16;
}
// The same for B of two neighbouring tiles of 8 columns: registers 0, 1 are the first tile's.
__device__ inline int offset_in_b(int lane, int stride) {
  return (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 16;
}

// c = start + a b for 32 signed bytes along k.
__device__ inline void multiply_s8(int (&c)[4], int start, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(start));
}

// For 16: the two registers of A are those of one half of k.
__device__ inline void multiply_s8(int (&c)[4], int start, uint32_t a0, uint32_t a1, uint32_t b) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(start));
}

// For 16 floats of 16 bits.
__device__ inline void multiply_add_f16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline void multiply_add_bf16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// c += the number of bits that are set in both, of 256 along k.
__device__ inline void count_common_bits(int (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace parlance::cuda
