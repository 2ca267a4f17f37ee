// Transforms and encoders of cache rows for NEON.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "kernels/cpu/kv_rows/kernels.h"
#include "kernels/cpu/simd/neon.h"
#include "quant/block32.h"
#include "quant/codebook.h"
#include "quant/hadamard.h"
#include "quant/q4_0.h"
#include "quant/q4_polar.h"
#include "quant/q8_0.h"
#include "quant/qjl1_256.h"
#include "quant/signs.h"
#include "quant/sketch.h"
#include "quant/tbq.h"
#include "quant/tbq3_tcq.h"

#if PARLANCE_NEON

namespace parlance::kv_rows {

namespace {

#define PARLANCE_SIMD

struct Lanes : simd::Neon {
  static constexpr int kRowVectors = 2;

  template <int distance>
  static PARLANCE_INLINE F swap_lanes(F a) {
    if constexpr (distance == 1) return vrev64q_f32(a);
    if constexpr (distance == 2) return vextq_f32(a, a, 2);
  }
  static PARLANCE_INLINE F magnitude(F a) { return vabsq_f32(a); }
  static PARLANCE_INLINE F minimum(F a, F b) { return vminq_f32(a, b); }
  static PARLANCE_INLINE F round(F a) { return vrndnq_f32(a); }
  static PARLANCE_INLINE F select_above(F a, F b, F x, F y) { return vbslq_f32(vcgtq_f32(a, b), x, y); }
  static PARLANCE_INLINE uint32_t lanes_above(F a, F b) { return bits_of(vcgtq_f32(a, b)); }
  static PARLANCE_INLINE uint32_t lanes_equal(F a, F b) { return bits_of(vceqq_f32(a, b)); }
  static PARLANCE_INLINE I no_codes() { return vdupq_n_u32(0); }
  static PARLANCE_INLINE I count_above(I codes, F a, F b) { return vsubq_u32(codes, vcgtq_f32(a, b)); }
  static PARLANCE_INLINE I truncate(F a) { return vreinterpretq_u32_s32(vcvtq_s32_f32(a)); }
  static PARLANCE_INLINE I join_nibbles(I low, I high) { return vorrq_u32(low, vshlq_n_u32(high, 4)); }
  static PARLANCE_INLINE void store_bytes(uint8_t* out, I codes) {
    const uint16x4_t words = vmovn_u32(codes);
    const uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(words, words))), 0);
    std::memcpy(out, &bytes, sizeof bytes);
  }
  static PARLANCE_INLINE void rows_of_best(const F (&best)[16], F (&rows)[8][2]) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 2
      for (int quarter = 0; quarter < 2; ++quarter) {
        F turned[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) turned[i] = best[2 * (4 * half + i) + quarter];
        transpose(turned);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) rows[4 * quarter + i][half] = turned[i];
      }
    }
  }

 private:
  static PARLANCE_INLINE uint32_t bits_of(uint32x4_t lanes) {
    constexpr uint32_t kBits[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(lanes, vld1q_u32(kBits)));
  }
};

#include "kernels/cpu/kv_rows/transforms.simd.h"

#include "kernels/cpu/kv_rows/codes.simd.h"

#include "kernels/cpu/kv_rows/blocks_of_128.simd.h"
#include "kernels/cpu/kv_rows/blocks_of_32.simd.h"
#include "kernels/cpu/kv_rows/trellis.simd.h"

// ---- Formats without levels ----

void to_bf16(const float* x, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bf16_bits bits = bf16_from_f32(x[i]);
    std::memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

void to_f16(const float* x, std::byte* out, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1_u16(reinterpret_cast<uint16_t*>(out + 2 * i), vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
  }
  if (i < n) {
    uint16_t rest[4];
    vst1_u16(rest, vreinterpret_u16_f16(vcvt_f16_f32(simd::Neon::load_first(x + i, n - i))));
    std::memcpy(out + 2 * i, rest, static_cast<size_t>(n - i) * sizeof(uint16_t));
  }
}

void to_q8_0(const float* x, std::byte* out, int64_t n) {
  for (int64_t block = 0; block < n / 32; ++block, x += 32, out += sizeof(BlockQ8_0)) {
    float32x4_t largest = vdupq_n_f32(0);
    for (int i = 0; i < 32; i += 4)  // keeps NaN
      largest = vmaxq_f32(largest, vabsq_f32(vld1q_f32(x + i)));
    const float d = vmaxvq_f32(largest) / 127;
    const float inverse = d != 0 ? 1 / d : 0;
    const f16_bits d_bits = f16_from_f32(d);
    std::memcpy(out, &d_bits, sizeof d_bits);
    for (int i = 0; i < 32; i += 8) {  // vcvta rounds halves away from zero
      const int32x4_t low = vcvtaq_s32_f32(vmulq_n_f32(vld1q_f32(x + i), inverse));
      const int32x4_t high = vcvtaq_s32_f32(vmulq_n_f32(vld1q_f32(x + i + 4), inverse));
      const int8x8_t codes = vmovn_s16(vcombine_s16(vmovn_s32(low), vmovn_s32(high)));
      vst1_s8(reinterpret_cast<int8_t*>(out + 2 + i), codes);
    }
  }
}

}  // namespace

void to_stored_neon(KvTransform transform, const float* q, float* stored, int64_t n) {
  transform_to_stored(transform, q, stored, n);
}

void from_stored_neon(KvTransform transform, const float* stored, float* x, int64_t n) {
  transform_from_stored(transform, stored, x, n);
}

// In the order of KvFormat.
const Encoders kNeon = {
    .compatible = {nullptr, to_f16, to_bf16, to_q8_0, encode_q4_0,
                   encode_tbq<BlockTbq3_0, KvEncoder::compatible>,
                   encode_tbq<BlockTbq4_0, KvEncoder::compatible>, encode_tcq, encode_qjl,
                   encode_polar<KvEncoder::compatible>, encode_polar<KvEncoder::compatible>},
    .search = {nullptr, to_f16, to_bf16, to_q8_0, search_q4_0, encode_tbq<BlockTbq3_0, KvEncoder::search>,
               encode_tbq<BlockTbq4_0, KvEncoder::search>, encode_tcq, encode_qjl,
               encode_polar<KvEncoder::search>, encode_polar<KvEncoder::search>},
};

}  // namespace parlance::kv_rows

#endif
