// Runs of quantised weights as f16: a value is a code times a step plus a minimum, rounded once.
#pragma once

#include <cuda_fp16.h>

#include "kernels/cuda/weights.cuh"

namespace parlance::cuda {

// Four signed codes as f16, exactly.
__device__ inline void halves_of_codes(uint32_t codes, __half2 (&out)[2]) {
  constexpr uint32_t kThousands = 0x64646464;                     // 0x64xx is 1024 + xx
  const __half2 offset = __half2half2(__ushort_as_half(0x6480));  // 1024 + 128
  const uint32_t unsigned_codes = codes ^ 0x80808080u;
  const uint32_t pairs[2] = {__byte_perm(unsigned_codes, kThousands, 0x4140),
                             __byte_perm(unsigned_codes, kThousands, 0x4342)};
#pragma unroll
  for (int i = 0; i < 2; ++i) out[i] = __hsub2(*reinterpret_cast<const __half2*>(&pairs[i]), offset);
}

// Eight values of a run: piece `piece` of it.
template <class Type>
__device__ uint4 halves_of_run(const Run& w, int piece) {
  const int half = Type::kHalves ? piece / 2 : 0;
  const __half2 scale = __float2half2_rn(w.step[half]);
  uint4 values;
  auto* const pairs = reinterpret_cast<__half2*>(&values);
#pragma unroll
  for (int word = 0; word < 2; ++word) {
    __half2 codes[2];
    halves_of_codes(w.codes[2 * piece + word], codes);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if constexpr (Type::kHasMinimum) {
        pairs[2 * word + i] = __hfma2(codes[i], scale, __float2half2_rn(w.minimum[half]));
      } else {
        pairs[2 * word + i] = __hmul2(codes[i], scale);
      }
    }
  }
  return values;
}

inline constexpr int kRunPieces = kRunValues * static_cast<int>(sizeof(uint16_t)) / 16;

}  // namespace parlance::cuda
