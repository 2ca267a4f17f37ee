// Transforms and encoders of cache rows for AVX-512.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "kernels/cpu/kv_rows/kernels.h"
#include "kernels/cpu/simd/avx512.h"
#include "quant/block32.h"
#include "quant/codebook.h"
#include "quant/hadamard.h"
#include "quant/q4_0.h"
#include "quant/q4_polar.h"
#include "quant/qjl1_256.h"
#include "quant/signs.h"
#include "quant/sketch.h"
#include "quant/tbq.h"
#include "quant/tbq3_tcq.h"

#if PARLANCE_X86

namespace parlance::kv_rows {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512

struct Lanes : simd::Avx512 {
  static constexpr int kRowVectors = 1;  // a row twice

  template <int distance>
  PARLANCE_AVX512 static PARLANCE_INLINE F swap_lanes(F a) {
    if constexpr (distance == 1) return _mm512_permute_ps(a, 0xb1);
    if constexpr (distance == 2) return _mm512_permute_ps(a, 0x4e);
    if constexpr (distance == 4) return _mm512_shuffle_f32x4(a, a, 0xb1);
    if constexpr (distance == 8) return _mm512_shuffle_f32x4(a, a, 0x4e);
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F magnitude(F a) { return _mm512_abs_ps(a); }
  PARLANCE_AVX512 static PARLANCE_INLINE F minimum(F a, F b) { return _mm512_min_ps(a, b); }
  PARLANCE_AVX512 static PARLANCE_INLINE F round(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F select_above(F a, F b, F x, F y) {
    return _mm512_mask_blend_ps(above(a, b), y, x);
  }
  PARLANCE_AVX512 static PARLANCE_INLINE uint32_t lanes_above(F a, F b) { return above(a, b); }
  PARLANCE_AVX512 static PARLANCE_INLINE uint32_t lanes_equal(F a, F b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
  }
  PARLANCE_AVX512 static PARLANCE_INLINE I no_codes() { return _mm512_setzero_si512(); }
  PARLANCE_AVX512 static PARLANCE_INLINE I count_above(I codes, F a, F b) {
    return _mm512_mask_add_epi32(codes, above(a, b), codes, _mm512_set1_epi32(1));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE I truncate(F a) { return _mm512_cvttps_epi32(a); }
  PARLANCE_AVX512 static PARLANCE_INLINE I join_nibbles(I low, I high) {
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 4));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE void store_bytes(uint8_t* out, I codes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(codes));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE void rows_of_best(const F (&best)[4], F (&rows)[8][1]) {
    const I low = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
    const I high = _mm512_add_epi32(low, _mm512_set1_epi32(4));
    // Four numbers each of rows 0 to 3, or 4 to 7.
    const F a = _mm512_permutex2var_ps(best[0], low, best[1]),
            b = _mm512_permutex2var_ps(best[2], low, best[3]);
    const F c = _mm512_permutex2var_ps(best[0], high, best[1]),
            d = _mm512_permutex2var_ps(best[2], high, best[3]);
    const I both = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 0, 1, 2, 3, 16, 17, 18, 19);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const I of_row = _mm512_add_epi32(both, _mm512_set1_epi32(4 * i));
      rows[i][0] = _mm512_permutex2var_ps(a, of_row, b);
      rows[i + 4][0] = _mm512_permutex2var_ps(c, of_row, d);
    }
  }

 private:
  PARLANCE_AVX512 static PARLANCE_INLINE __mmask16 above(F a, F b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
  }
};

#include "kernels/cpu/kv_rows/transforms.simd.h"

#include "kernels/cpu/kv_rows/codes.simd.h"

#include "kernels/cpu/kv_rows/blocks_of_128.simd.h"
#include "kernels/cpu/kv_rows/blocks_of_32.simd.h"
#include "kernels/cpu/kv_rows/trellis.simd.h"

// ---- Formats without levels ----

PARLANCE_AVX512 void to_bf16(const float* x, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bf16_bits bits = bf16_from_f32(x[i]);
    std::memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

PARLANCE_AVX512 void to_f16(const float* x, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
    const __m256i half = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(mask, x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm256_mask_storeu_epi16(out + 2 * i, mask, half);
  }
}

}  // namespace

PARLANCE_AVX512 void to_stored_avx512(KvTransform transform, const float* q, float* stored, int64_t n) {
  transform_to_stored(transform, q, stored, n);
}

PARLANCE_AVX512 void from_stored_avx512(KvTransform transform, const float* stored, float* x, int64_t n) {
  transform_from_stored(transform, stored, x, n);
}

// In the order of KvFormat.
const Encoders kAvx512 = {
    .compatible = {nullptr, to_f16, to_bf16, to_q8_0_avx2, encode_q4_0,
                   encode_tbq<BlockTbq3_0, KvEncoder::compatible>,
                   encode_tbq<BlockTbq4_0, KvEncoder::compatible>, encode_tcq, encode_qjl,
                   encode_polar<KvEncoder::compatible>, encode_polar<KvEncoder::compatible>},
    .search = {nullptr, to_f16, to_bf16, to_q8_0_avx2, search_q4_0,
               encode_tbq<BlockTbq3_0, KvEncoder::search>, encode_tbq<BlockTbq4_0, KvEncoder::search>,
               encode_tcq, encode_qjl, encode_polar<KvEncoder::search>, encode_polar<KvEncoder::search>},
};

}  // namespace parlance::kv_rows

#endif
