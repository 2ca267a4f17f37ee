// Tensor core instructions of compute capability 9.0, by a warpgroup: four warps that follow each other
// multiply 64 rows, 16 of each warp's, by up to 256 columns, both in shared memory, while their threads go
// on. Sums lie as those of mma.cuh, for one tile of 8 columns after the other. A and B are tiles of rows of
// 64 values of 16 bits, 128 bytes, in an order that keeps eight rows' pieces in different banks; they begin
// at multiples of 1024 bytes.
#pragma once

#include <cstdint>

#include "kernels/cuda/matmul/copy.cuh"

namespace parlance::cuda {

inline constexpr int kWarpgroupThreads = 128, kWarpgroupRows = 64;
inline constexpr int kSwizzledRowBytes = 128;
inline constexpr int kSwizzledRows = 8;

// Where the first tile may begin in the memory of a block, of which this is the most that is left before it.
inline constexpr int kTileAlignment = 1024;
__device__ inline uint8_t* first_tile(uint8_t* dynamic) {
  return dynamic + (kTileAlignment - shared_address(dynamic) % kTileAlignment) % kTileAlignment;
}

// Where piece `piece` (of 16 bytes) of row `row` lies in a tile, in bytes.
__device__ inline int swizzled_place(int row, int piece) {
  return row * kSwizzledRowBytes + (piece ^ (row % kSwizzledRows)) * kPieceBytes;
}

// What the instructions know a tile by, from the row on that begins at `p`, a multiple of eight. Values
// further along a row follow in units of 16 bytes.
__device__ inline uint64_t tile_descriptor(const void* p) {
  constexpr uint64_t kUnit = 16, kIsSwizzled = uint64_t{1} << 62;
  constexpr uint64_t kGroupBytes = kSwizzledRows * kSwizzledRowBytes;
  return (shared_address(p) / kUnit) | uint64_t{1} << 16 | kGroupBytes / kUnit << 32 | kIsSwizzled;
}

// The same for a B whose rows lie along k, each with 64 columns of it; those of the next 64 columns are
// `slice_bytes` behind them. 16 values further along k are 16 rows.
__device__ inline uint64_t tile_descriptor_along_k(const void* p, int slice_bytes) {
  constexpr uint64_t kUnit = 16, kIsSwizzled = uint64_t{1} << 62;
  constexpr uint64_t kGroupBytes = kSwizzledRows * kSwizzledRowBytes;
  return (shared_address(p) / kUnit) | static_cast<uint64_t>(slice_bytes) / kUnit << 16 |
         kGroupBytes / kUnit << 32 | kIsSwizzled;
}

// What has been written to shared memory is seen by instructions behind this: what this thread has written,
// by those that other threads start behind a barrier; what it has waited for, by its own.
__device__ inline void show_to_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Before the first instruction, and wherever threads have touched the sums.
__device__ inline void begin_warpgroup_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void end_warpgroup_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int n_pending>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n_pending) : "memory");
}

// Keeps the compiler from moving the sums before or behind this.
template <int n>
__device__ inline void pin_sums(float (&c)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(c[i])::"memory");
}

// Registers of a thread, by whole warpgroups of a kernel with a bound on its blocks: those that bring what
// others multiply need few.
template <int n>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n));
}
template <int n>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n));
}

#define PARLANCE_SUMS_8(c, i)                                                                 \
  "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), \
      "+f"(c[i + 6]), "+f"(c[i + 7])
#define PARLANCE_SUMS_32(c, i) \
  PARLANCE_SUMS_8(c, i), PARLANCE_SUMS_8(c, i + 8), PARLANCE_SUMS_8(c, i + 16), PARLANCE_SUMS_8(c, i + 24)

// c += a b for 64 rows, 64 columns and 16 floats of 16 bits along k.
#define PARLANCE_MULTIPLY_64(type)                                                                  \
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type                          \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"            \
               " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " \
               "%32, %33, 1, 1, 1, 0, 0;"                                                           \
               : PARLANCE_SUMS_32(c, 0)                                                             \
               : "l"(a), "l"(b))
__device__ inline void multiply_warpgroup_f16(float (&c)[32], uint64_t a, uint64_t b) {
  PARLANCE_MULTIPLY_64("f16");
}
__device__ inline void multiply_warpgroup_bf16(float (&c)[32], uint64_t a, uint64_t b) {
  PARLANCE_MULTIPLY_64("bf16");
}
#undef PARLANCE_MULTIPLY_64

// c += a b for 64 rows, 128 columns and 16 floats of 16 bits along k.
__device__ inline void multiply_warpgroup_f16(float (&c)[64], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1, 0, 0;"
      : PARLANCE_SUMS_32(c, 0), PARLANCE_SUMS_32(c, 32)
      : "l"(a), "l"(b));
}

// The same, where c is of no meaning before.
__device__ inline void begin_warpgroup_f16(float (&c)[64], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 0, 1, 1, 0, 0;"
      : PARLANCE_SUMS_32(c, 0), PARLANCE_SUMS_32(c, 32)
      : "l"(a), "l"(b));
}

// c += a b, where a lies in registers as those of mma.cuh do and b's rows along k.
__device__ inline void multiply_warpgroup_f16(float (&c)[64], const uint32_t (&a)[4], uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
      : PARLANCE_SUMS_32(c, 0), PARLANCE_SUMS_32(c, 32)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// c += a b for 64 rows and 64 columns, where a lies in registers and b's columns along k.
__device__ inline void multiply_warpgroup_rows_f16(float (&c)[32], const uint32_t (&a)[4], uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
      : PARLANCE_SUMS_32(c, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// c += a b for 64 rows, 256 columns and 16 floats of 16 bits along k.
__device__ inline void multiply_warpgroup_f16(float (&c)[128], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
      " %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
      " %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,"
      " %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
      " %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, 1, 1, 1, 0, 0;"
      : PARLANCE_SUMS_32(c, 0), PARLANCE_SUMS_32(c, 32), PARLANCE_SUMS_32(c, 64), PARLANCE_SUMS_32(c, 96)
      : "l"(a), "l"(b));
}

#undef PARLANCE_SUMS_32
#undef PARLANCE_SUMS_8

}  // namespace parlance::cuda
