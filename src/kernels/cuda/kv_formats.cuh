// The formats of a KV cache on the GPU; what their bytes mean is defined in quant/.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/kv_tables.cuh"
#include "quant/kv_blocks.h"
#include "quant/kv_format.h"

namespace parlance::cuda {

inline constexpr int kQ8Elements = 32;
inline constexpr int kQ8Bytes = 34;  // an f16 step, then the codes

// Calls use(std::integral_constant<KvFormat, format>()): a plain format known at run time picks a template.
template <class Use>
void with_format(KvFormat format, const Use& use) {
  if (format == KvFormat::f32) use(std::integral_constant<KvFormat, KvFormat::f32>());
  if (format == KvFormat::f16) use(std::integral_constant<KvFormat, KvFormat::f16>());
  if (format == KvFormat::bf16) use(std::integral_constant<KvFormat, KvFormat::bf16>());
  if (format == KvFormat::q8_0) use(std::integral_constant<KvFormat, KvFormat::q8_0>());
}

// ---- Stored values, one at a time. Rows lie at even addresses. ----

__device__ inline float half_at(const std::byte* p) {
  return __half2float(*reinterpret_cast<const __half*>(p));
}
__device__ inline int byte_at(const std::byte* p, int i) {
  return static_cast<int>(p[i]);
}
// Code i of nibbles where byte j has values j and j + 16.
__device__ inline int nibble_at(const std::byte* codes, int i) {
  return byte_at(codes, i % 16) >> (i / 16 * 4) & 15;
}
// n_bits at most 9, from a bit on.
__device__ inline int bits_at(const std::byte* codes, int bit, int n_bits) {
  const int low = byte_at(codes, bit / 8), high = bit % 8 + n_bits > 8 ? byte_at(codes, bit / 8 + 1) : 0;
  return (low | high << 8) >> (bit % 8) & ((1 << n_bits) - 1);
}

// Stored value i of a row.
template <KvFormat format>
__device__ float kv_element(const std::byte* row, int i) {
  if constexpr (format == KvFormat::f32) {
    return reinterpret_cast<const float*>(row)[i];
  } else if constexpr (format == KvFormat::f16) {
    return __half2float(reinterpret_cast<const __half*>(row)[i]);
  } else if constexpr (format == KvFormat::bf16) {
    return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(row)[i]);
  } else if constexpr (format == KvFormat::q8_0) {
    const std::byte* block = row + i / kQ8Elements * kQ8Bytes;
    const float step = __half2float(*reinterpret_cast<const __half*>(block));
    return step * reinterpret_cast<const int8_t*>(block)[2 + i % kQ8Elements];
  } else if constexpr (format == KvFormat::q4_0) {
    const std::byte* block = row + i / 32 * sizeof(BlockQ4_0);
    return half_at(block) * static_cast<float>(nibble_at(block + 2, i % 32) - 8);
  } else if constexpr (format == KvFormat::tbq4_0) {
    const std::byte* block = row + i / 32 * sizeof(BlockTbq4_0);
    return half_at(block) * kLevels4.of[nibble_at(block + 2, i % 32)];
  } else if constexpr (format == KvFormat::tbq3_0) {
    const std::byte* block = row + i / 32 * sizeof(BlockTbq3_0);
    return half_at(block) * kLevels3.of[bits_at(block + 2, 3 * (i % 32), 3)];
  } else if constexpr (format == KvFormat::tbq3_tcq) {
    const std::byte* block = row + i / 128 * sizeof(BlockTbq3Tcq);
    return kTrellisLevels[bits_at(block + 2, 3 * (i % 128), 9)] * half_at(block);
  } else if constexpr (format == KvFormat::qjl1_256) {
    const std::byte* block = row + i / 256 * sizeof(BlockQjl1_256);
    const float norm = __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(block + 32));
    return bits_at(block, i % 256, 1) ? norm : -norm;
  } else {
    const std::byte* block = row + i / 128 * sizeof(BlockQ4Polar);
    const float level = kPolarLevels.of[byte_at(block + 2, i % 128 / 2) >> (i % 2 * 4) & 15];
    if constexpr (format == KvFormat::q4_polar) return half_at(block) * level;
    const float step = byte_at(block + 66, 0) & 1 ? kPolarResidualStep : -kPolarResidualStep;
    return half_at(block) * (level + step * kPolarResidualSigns.of[i % 128]);
  }
}

// All n of them, by one warp.
template <KvFormat format>
__device__ void read_row(const std::byte* row, int n, int lane, float* x) {
  for (int i = lane; i < n; i += 32) x[i] = kv_element<format>(row, i);
}
__device__ inline void read_row(KvFormat format, const std::byte* row, int n, int lane, float* x) {
  switch (format) {
    case KvFormat::f32:
      return read_row<KvFormat::f32>(row, n, lane, x);
    case KvFormat::f16:
      return read_row<KvFormat::f16>(row, n, lane, x);
    case KvFormat::bf16:
      return read_row<KvFormat::bf16>(row, n, lane, x);
    case KvFormat::q8_0:
      return read_row<KvFormat::q8_0>(row, n, lane, x);
    case KvFormat::q4_0:
      return read_row<KvFormat::q4_0>(row, n, lane, x);
    case KvFormat::tbq3_0:
      return read_row<KvFormat::tbq3_0>(row, n, lane, x);
    case KvFormat::tbq4_0:
      return read_row<KvFormat::tbq4_0>(row, n, lane, x);
    case KvFormat::tbq3_tcq:
      return read_row<KvFormat::tbq3_tcq>(row, n, lane, x);
    case KvFormat::qjl1_256:
      return read_row<KvFormat::qjl1_256>(row, n, lane, x);
    case KvFormat::q4_polar:
      return read_row<KvFormat::q4_polar>(row, n, lane, x);
    case KvFormat::q4_polar_residual:
      return read_row<KvFormat::q4_polar_residual>(row, n, lane, x);
  }
}

// Eight elements as they are stored, loaded early and decoded when they are needed. Rows are 16-byte aligned
// (q8_0: 4-byte aligned, with a multiple of 64 elements).
template <KvFormat format>
struct KvEight;

template <>
struct KvEight<KvFormat::f32> {
  float4 low, high;
  __device__ void load(const std::byte* row, int eighth) {
    const auto* four = reinterpret_cast<const float4*>(row) + 2 * eighth;
    low = four[0];
    high = four[1];
  }
  __device__ void decode(float (&x)[8]) const {
    x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
    x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
  }
};

template <>
struct KvEight<KvFormat::f16> {
  uint4 bits;
  __device__ void load(const std::byte* row, int eighth) {
    bits = reinterpret_cast<const uint4*>(row)[eighth];
  }
  __device__ void decode(float (&x)[8]) const {
    const uint32_t pairs[4] = {bits.x, bits.y, bits.z, bits.w};
    for (int i = 0; i < 4; ++i) {
      const __half2_raw raw{static_cast<uint16_t>(pairs[i]), static_cast<uint16_t>(pairs[i] >> 16)};
      const float2 two = __half22float2(raw);
      x[2 * i] = two.x;
      x[2 * i + 1] = two.y;
    }
  }
};

template <>
struct KvEight<KvFormat::bf16> {
  uint4 bits;
  __device__ void load(const std::byte* row, int eighth) {
    bits = reinterpret_cast<const uint4*>(row)[eighth];
  }
  __device__ void decode(float (&x)[8]) const {
    const uint32_t pairs[4] = {bits.x, bits.y, bits.z, bits.w};
    for (int i = 0; i < 4; ++i) {
      x[2 * i] = __uint_as_float(pairs[i] << 16);
      x[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000);
    }
  }
};

// Blocks are 34 bytes, so that the codes of every second one begin in the middle of a word.
template <>
struct KvEight<KvFormat::q8_0> {
  uint32_t low, high;
  __half step;
  __device__ void load(const std::byte* row, int eighth) {
    const int block = eighth / 4;
    const int offset = block * kQ8Bytes + 2 + eighth % 4 * 8;  // of the codes, in the row
    step = *reinterpret_cast<const __half*>(row + block * kQ8Bytes);
    const auto* words = reinterpret_cast<const uint32_t*>(row + offset / 4 * 4);
    low = words[0];
    high = words[1];
    if (offset % 4 != 0) {
      low = __funnelshift_r(low, high, 16);
      high = __funnelshift_r(high, words[2], 16);
    }
  }
  __device__ void decode(float (&x)[8]) const {
    const float d = __half2float(step);
    for (int i = 0; i < 4; ++i) {
      x[i] = d * static_cast<int8_t>(low >> 8 * i);
      x[4 + i] = d * static_cast<int8_t>(high >> 8 * i);
    }
  }
};

}  // namespace parlance::cuda
