// The formats of a KV cache on the GPU; what their bytes mean is defined in quant/.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "quant/kv_format.h"

namespace parlance::cuda {

inline constexpr int kQ8Elements = 32;
inline constexpr int kQ8Bytes = 34;  // an f16 step, then the codes

// Calls use(std::integral_constant<KvFormat, format>()): a format known at run time picks a template.
template <class Use>
void with_format(KvFormat format, const Use& use) {
  if (format == KvFormat::f32) use(std::integral_constant<KvFormat, KvFormat::f32>());
  if (format == KvFormat::f16) use(std::integral_constant<KvFormat, KvFormat::f16>());
  if (format == KvFormat::bf16) use(std::integral_constant<KvFormat, KvFormat::bf16>());
  if (format == KvFormat::q8_0) use(std::integral_constant<KvFormat, KvFormat::q8_0>());
}

// Element i of a row.
template <KvFormat format>
__device__ float kv_element(const std::byte* row, int i) {
  if constexpr (format == KvFormat::f32) {
    return reinterpret_cast<const float*>(row)[i];
  } else if constexpr (format == KvFormat::f16) {
    return __half2float(reinterpret_cast<const __half*>(row)[i]);
  } else if constexpr (format == KvFormat::bf16) {
    return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(row)[i]);
  } else {
    const std::byte* block = row + i / kQ8Elements * kQ8Bytes;
    const float step = __half2float(*reinterpret_cast<const __half*>(block));
    return step * reinterpret_cast<const int8_t*>(block)[2 + i % kQ8Elements];
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
