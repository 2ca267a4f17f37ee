// Sixteen floats in an AVX-512 register. The three headers of this folder give the same names to the same
// operations, so that a kernel can be written once and compiled for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/simd/exp_constants.h"

#if PARLANCE_X86

namespace parlance::simd {

struct Avx512 {
  using F = __m512;
  static constexpr int kWidth = 16;
  static constexpr int kRegisters = 32;

  PARLANCE_AVX512 static PARLANCE_INLINE __mmask16 first(int64_t n) {
    return static_cast<__mmask16>((1u << n) - 1);
  }

  PARLANCE_AVX512 static PARLANCE_INLINE F zero() { return _mm512_setzero_ps(); }
  PARLANCE_AVX512 static PARLANCE_INLINE F broadcast(float x) { return _mm512_set1_ps(x); }
  PARLANCE_AVX512 static PARLANCE_INLINE F load(const float* x) { return _mm512_loadu_ps(x); }
  PARLANCE_AVX512 static PARLANCE_INLINE void store(float* x, F a) { _mm512_storeu_ps(x, a); }
  // The first n lanes, 0 <= n < kWidth; the others are zero.
  PARLANCE_AVX512 static PARLANCE_INLINE F load_first(const float* x, int64_t n) {
    return _mm512_maskz_loadu_ps(first(n), x);
  }
  PARLANCE_AVX512 static PARLANCE_INLINE void store_first(float* x, F a, int64_t n) {
    _mm512_mask_storeu_ps(x, first(n), a);
  }

  PARLANCE_AVX512 static PARLANCE_INLINE F add(F a, F b) { return _mm512_add_ps(a, b); }
  PARLANCE_AVX512 static PARLANCE_INLINE F subtract(F a, F b) { return _mm512_sub_ps(a, b); }
  PARLANCE_AVX512 static PARLANCE_INLINE F multiply(F a, F b) { return _mm512_mul_ps(a, b); }
  PARLANCE_AVX512 static PARLANCE_INLINE F divide(F a, F b) { return _mm512_div_ps(a, b); }
  PARLANCE_AVX512 static PARLANCE_INLINE F maximum(F a, F b) { return _mm512_max_ps(a, b); }
  PARLANCE_AVX512 static PARLANCE_INLINE F multiply_add(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  PARLANCE_AVX512 static PARLANCE_INLINE float sum(F a) { return _mm512_reduce_add_ps(a); }
  PARLANCE_AVX512 static PARLANCE_INLINE float largest(F a) { return _mm512_reduce_max_ps(a); }

  // Rows of a cache, from element i on.
  PARLANCE_AVX512 static PARLANCE_INLINE F widen_f16(const std::byte* x) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F widen_f16_first(const std::byte* x, int64_t n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(n), x));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F widen_bf16(const std::byte* x) {
    return from_bf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F widen_bf16_first(const std::byte* x, int64_t n) {
    return from_bf16(_mm256_maskz_loadu_epi16(first(n), x));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F widen_i8(const std::byte* x) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F broadcast_f16(const std::byte* x) {
    int16_t bits;
    std::memcpy(&bits, x, sizeof bits);
    return _mm512_cvtph_ps(_mm256_set1_epi16(bits));
  }

  // Codes of compressed rows, one in the low bits of each lane; what lies above them is not said.
  using I = __m512i;
  // The bytes of kWidth codes, and their high halves.
  PARLANCE_AVX512 static PARLANCE_INLINE I byte_codes(const std::byte* x) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE I high_nibbles(I codes) { return _mm512_srli_epi32(codes, 4); }
  // kWidth nibbles, those of a byte in neighbouring lanes, the low one first.
  PARLANCE_AVX512 static PARLANCE_INLINE I nibble_codes(const std::byte* x) {
    const I bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
    return _mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28));
  }
  // kWidth fields that begin at every third bit.
  PARLANCE_AVX512 static PARLANCE_INLINE I fields_of_3(uint64_t bits) {
    const I low_and_high = _mm512_inserti64x4(_mm512_set1_epi32(static_cast<int>(bits)),
                                              _mm256_set1_epi32(static_cast<int>(bits >> 24)), 1);
    return _mm512_srlv_epi32(low_and_high,
                             _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 0, 3, 6, 9, 12, 15, 18, 21));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F look_up_8(const float* table, I codes) {
    return _mm512_permutexvar_ps(codes, _mm512_broadcast_f32x8(_mm256_loadu_ps(table)));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F look_up_16(const float* table, I codes) {
    return _mm512_permutexvar_ps(codes, load(table));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE F look_up_512(const float* table, I codes) {
    return _mm512_i32gather_ps(_mm512_and_si512(codes, _mm512_set1_epi32(511)), table, sizeof(float));
  }
  // x where the lane's bit is 1, else -x.
  PARLANCE_AVX512 static PARLANCE_INLINE F signed_by(uint32_t bits, F x) {
    return _mm512_mask_blend_ps(static_cast<__mmask16>(bits), _mm512_sub_ps(zero(), x), x);
  }

  PARLANCE_AVX512 static PARLANCE_INLINE F exp(F x) {
    // The operand that may be NaN comes second: these instructions return it then.
    x = _mm512_max_ps(_mm512_set1_ps(kExpLowest), _mm512_min_ps(_mm512_set1_ps(kExpHighest), x));
    const F n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(kLog2E)), _MM_FROUND_TO_NEAREST_INT);
    F r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2High), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2Low), r);
    F p = _mm512_fmadd_ps(_mm512_set1_ps(kExp6), r, _mm512_set1_ps(kExp5));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kExp4));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kExp3));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kExp2));
    p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
    return _mm512_scalef_ps(_mm512_add_ps(p, _mm512_set1_ps(1)), n);
  }

  PARLANCE_AVX512 static PARLANCE_INLINE F exp2(F x) {
    x = _mm512_max_ps(_mm512_set1_ps(kPowerLowest), x);  // NaN, the second operand, is kept
    const __m512i n = _mm512_cvtps_epi32(x);
    const F f = _mm512_sub_ps(x, _mm512_cvtepi32_ps(n));
    F p = _mm512_fmadd_ps(_mm512_set1_ps(kPower5), f, _mm512_set1_ps(kPower4));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(kPower3));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(kPower2));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(kPower1));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1));
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p), _mm512_slli_epi32(n, 23)));
  }

  // rows[i] lane j becomes rows[j] lane i.
  PARLANCE_AVX512 static PARLANCE_INLINE void transpose(F (&rows)[kWidth]) {
    __m512d t[kWidth];
#pragma GCC unroll 4
    for (int i = 0; i < kWidth; i += 4) {  // 4x4 within each 128-bit lane
      const F a = _mm512_unpacklo_ps(rows[i], rows[i + 1]), b = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
      const F c = _mm512_unpacklo_ps(rows[i + 2], rows[i + 3]),
              d = _mm512_unpackhi_ps(rows[i + 2], rows[i + 3]);
      t[i] = _mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(c));
      t[i + 1] = _mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(c));
      t[i + 2] = _mm512_unpacklo_pd(_mm512_castps_pd(b), _mm512_castps_pd(d));
      t[i + 3] = _mm512_unpackhi_pd(_mm512_castps_pd(b), _mm512_castps_pd(d));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {  // then the 4x4 of lanes
      const F a = _mm512_castpd_ps(t[i]), b = _mm512_castpd_ps(t[i + 4]);
      const F c = _mm512_castpd_ps(t[i + 8]), d = _mm512_castpd_ps(t[i + 12]);
      const F ab_even = _mm512_shuffle_f32x4(a, b, 0x88), ab_odd = _mm512_shuffle_f32x4(a, b, 0xdd);
      const F cd_even = _mm512_shuffle_f32x4(c, d, 0x88), cd_odd = _mm512_shuffle_f32x4(c, d, 0xdd);
      rows[i] = _mm512_shuffle_f32x4(ab_even, cd_even, 0x88);
      rows[i + 4] = _mm512_shuffle_f32x4(ab_odd, cd_odd, 0x88);
      rows[i + 8] = _mm512_shuffle_f32x4(ab_even, cd_even, 0xdd);
      rows[i + 12] = _mm512_shuffle_f32x4(ab_odd, cd_odd, 0xdd);
    }
  }

  // Lane i is the sum of rows[i].
  PARLANCE_AVX512 static PARLANCE_INLINE F sums_of(const F (&rows)[kWidth]) {
    F quads[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {  // lane k of each quarter: a part of the sum of rows[4 i + k]
      const F* r = rows + 4 * i;
      const F ab = _mm512_add_ps(_mm512_unpacklo_ps(r[0], r[1]), _mm512_unpackhi_ps(r[0], r[1]));
      const F cd = _mm512_add_ps(_mm512_unpacklo_ps(r[2], r[3]), _mm512_unpackhi_ps(r[2], r[3]));
      quads[i] = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
    }
    const F a = _mm512_add_ps(_mm512_shuffle_f32x4(quads[0], quads[1], 0x88),
                              _mm512_shuffle_f32x4(quads[0], quads[1], 0xdd));
    const F b = _mm512_add_ps(_mm512_shuffle_f32x4(quads[2], quads[3], 0x88),
                              _mm512_shuffle_f32x4(quads[2], quads[3], 0xdd));
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }

  // Quads are four neighbouring lanes. The same four floats in each of them; rows[i] quad j becomes rows[j]
  // quad i; the sum of each, of lanes 0 and 2, and of 1 and 3, stored.
  PARLANCE_AVX512 static PARLANCE_INLINE F quads_of(const float* x) {
    return _mm512_broadcast_f32x4(_mm_loadu_ps(x));
  }
  PARLANCE_AVX512 static PARLANCE_INLINE void transpose_quads(F (&rows)[4]) {
    const F low01 = _mm512_shuffle_f32x4(rows[0], rows[1], 0x44),
            low23 = _mm512_shuffle_f32x4(rows[2], rows[3], 0x44);
    const F high01 = _mm512_shuffle_f32x4(rows[0], rows[1], 0xee),
            high23 = _mm512_shuffle_f32x4(rows[2], rows[3], 0xee);
    rows[0] = _mm512_shuffle_f32x4(low01, low23, 0x88);
    rows[1] = _mm512_shuffle_f32x4(low01, low23, 0xdd);
    rows[2] = _mm512_shuffle_f32x4(high01, high23, 0x88);
    rows[3] = _mm512_shuffle_f32x4(high01, high23, 0xdd);
  }
  PARLANCE_AVX512 static PARLANCE_INLINE void store_quad_sums(float* sums, F a) {
    a = _mm512_add_ps(a, _mm512_permute_ps(a, 0x4e));
    a = _mm512_add_ps(a, _mm512_permute_ps(a, 0xb1));
    const I firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm_storeu_ps(sums, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, a)));
  }

 private:
  PARLANCE_AVX512 static PARLANCE_INLINE F from_bf16(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
  }
};

}  // namespace parlance::simd

#endif
