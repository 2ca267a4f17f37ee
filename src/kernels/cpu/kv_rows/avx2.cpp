// Transforms and encoders of cache rows for AVX2.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "kernels/cpu/kv_rows/kernels.h"
#include "kernels/cpu/simd/avx2.h"
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

#if PARLANCE_X86

namespace parlance::kv_rows {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX2

struct Lanes : simd::Avx2 {
  static constexpr int kRowVectors = 1;

  template <int distance>
  PARLANCE_AVX2 static PARLANCE_INLINE F swap_lanes(F a) {
    if constexpr (distance == 1) return _mm256_permute_ps(a, 0xb1);
    if constexpr (distance == 2) return _mm256_permute_ps(a, 0x4e);
    if constexpr (distance == 4) return _mm256_permute2f128_ps(a, a, 1);
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F magnitude(F a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
  PARLANCE_AVX2 static PARLANCE_INLINE F minimum(F a, F b) { return _mm256_min_ps(a, b); }
  PARLANCE_AVX2 static PARLANCE_INLINE F round(F a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F select_above(F a, F b, F x, F y) {
    return _mm256_blendv_ps(y, x, above(a, b));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE uint32_t lanes_above(F a, F b) {
    return static_cast<uint32_t>(_mm256_movemask_ps(above(a, b)));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE uint32_t lanes_equal(F a, F b) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE I no_codes() { return _mm256_setzero_si256(); }
  PARLANCE_AVX2 static PARLANCE_INLINE I count_above(I codes, F a, F b) {
    return _mm256_sub_epi32(codes, _mm256_castps_si256(above(a, b)));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE I truncate(F a) { return _mm256_cvttps_epi32(a); }
  PARLANCE_AVX2 static PARLANCE_INLINE I join_nibbles(I low, I high) {
    return _mm256_or_si256(low, _mm256_slli_epi32(high, 4));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE void store_bytes(uint8_t* out, I codes) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(words, words));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE void rows_of_best(const F (&best)[8], F (&rows)[8][1]) {
    F turned[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) turned[i] = best[i];
    transpose(turned);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) rows[i][0] = turned[i];
  }

 private:
  PARLANCE_AVX2 static PARLANCE_INLINE F above(F a, F b) {
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
  }
};

#include "kernels/cpu/kv_rows/transforms.simd.h"

#include "kernels/cpu/kv_rows/codes.simd.h"

#include "kernels/cpu/kv_rows/blocks_of_128.simd.h"
#include "kernels/cpu/kv_rows/blocks_of_32.simd.h"
#include "kernels/cpu/kv_rows/trellis.simd.h"

// ---- Formats without levels ----

PARLANCE_AVX2 void to_bf16(const float* x, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bf16_bits bits = bf16_from_f32(x[i]);
    std::memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

PARLANCE_AVX2 void to_f16(const float* x, std::byte* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * i), half);
  }
  for (; i < n; ++i) {
    const uint16_t bits = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

// The low bytes of the rounded values. Truncation after adding the float below one half rounds halves away
// from zero, and nothing else.
PARLANCE_AVX2 PARLANCE_INLINE __m256i rounded_codes(__m256 scaled) {
  const __m256 sign = _mm256_and_ps(scaled, _mm256_set1_ps(-0.0f));
  const __m256i codes =
      _mm256_cvttps_epi32(_mm256_add_ps(scaled, _mm256_or_ps(sign, _mm256_set1_ps(0x1.fffffep-2f))));
  return _mm256_and_si256(codes, _mm256_set1_epi32(0xff));
}

}  // namespace

PARLANCE_AVX2 void to_q8_0_avx2(const float* x, std::byte* out, int64_t n) {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // undoes the packing by 128-bit lanes
  for (int64_t block = 0; block < n / 32; ++block, x += 32, out += sizeof(BlockQ8_0)) {
    __m256 largest = _mm256_setzero_ps(), nothing = largest;
    for (int i = 0; i < 32; i += 8) {
      const __m256 value = _mm256_loadu_ps(x + i);
      largest = _mm256_max_ps(_mm256_and_ps(value, magnitude), largest);
      nothing =
          _mm256_fmadd_ps(value, _mm256_setzero_ps(), nothing);  // NaN where a value is that or infinite
    }
    const bool is_damaged = _mm256_movemask_ps(_mm256_cmp_ps(nothing, nothing, _CMP_UNORD_Q)) != 0;
    const float d = is_damaged ? std::numeric_limits<float>::quiet_NaN() : simd::Avx2::largest(largest) / 127;
    const __m256 inverse = _mm256_set1_ps(d != 0 ? 1 / d : 0);
    const uint16_t d_bits = _cvtss_sh(d, _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(out, &d_bits, sizeof d_bits);
    const __m256i a = rounded_codes(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
    const __m256i b = rounded_codes(_mm256_mul_ps(_mm256_loadu_ps(x + 8), inverse));
    const __m256i c = rounded_codes(_mm256_mul_ps(_mm256_loadu_ps(x + 16), inverse));
    const __m256i e = rounded_codes(_mm256_mul_ps(_mm256_loadu_ps(x + 24), inverse));
    const __m256i codes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, e));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 2), _mm256_permutevar8x32_epi32(codes, order));
  }
}

PARLANCE_AVX2 void to_stored_avx2(KvTransform transform, const float* q, float* stored, int64_t n) {
  transform_to_stored(transform, q, stored, n);
}

PARLANCE_AVX2 void from_stored_avx2(KvTransform transform, const float* stored, float* x, int64_t n) {
  transform_from_stored(transform, stored, x, n);
}

// In the order of KvFormat.
const Encoders kAvx2 = {
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
