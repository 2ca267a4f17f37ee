// Eight floats in an AVX register; the names are those of avx512.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/simd/exp_constants.h"

#if PARLANCE_X86

namespace parlance::simd {

struct Avx2 {
  using F = __m256;
  static constexpr int kWidth = 8;
  static constexpr int kRegisters = 16;

  PARLANCE_AVX2 static PARLANCE_INLINE __m256i first(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }

  PARLANCE_AVX2 static PARLANCE_INLINE F zero() { return _mm256_setzero_ps(); }
  PARLANCE_AVX2 static PARLANCE_INLINE F broadcast(float x) { return _mm256_set1_ps(x); }
  PARLANCE_AVX2 static PARLANCE_INLINE F load(const float* x) { return _mm256_loadu_ps(x); }
  PARLANCE_AVX2 static PARLANCE_INLINE void store(float* x, F a) { _mm256_storeu_ps(x, a); }
  PARLANCE_AVX2 static PARLANCE_INLINE F load_first(const float* x, int64_t n) {
    return _mm256_maskload_ps(x, first(n));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE void store_first(float* x, F a, int64_t n) {
    _mm256_maskstore_ps(x, first(n), a);
  }

  PARLANCE_AVX2 static PARLANCE_INLINE F add(F a, F b) { return _mm256_add_ps(a, b); }
  PARLANCE_AVX2 static PARLANCE_INLINE F subtract(F a, F b) { return _mm256_sub_ps(a, b); }
  PARLANCE_AVX2 static PARLANCE_INLINE F multiply(F a, F b) { return _mm256_mul_ps(a, b); }
  PARLANCE_AVX2 static PARLANCE_INLINE F divide(F a, F b) { return _mm256_div_ps(a, b); }
  PARLANCE_AVX2 static PARLANCE_INLINE F maximum(F a, F b) { return _mm256_max_ps(a, b); }
  PARLANCE_AVX2 static PARLANCE_INLINE F multiply_add(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  PARLANCE_AVX2 static PARLANCE_INLINE float sum(F a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE float largest(F a) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }

  PARLANCE_AVX2 static PARLANCE_INLINE F widen_f16(const std::byte* x) { return _mm256_cvtph_ps(halves(x)); }
  PARLANCE_AVX2 static PARLANCE_INLINE F widen_f16_first(const std::byte* x, int64_t n) {
    return _mm256_cvtph_ps(first_halves(x, n));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F widen_bf16(const std::byte* x) { return from_bf16(halves(x)); }
  PARLANCE_AVX2 static PARLANCE_INLINE F widen_bf16_first(const std::byte* x, int64_t n) {
    return from_bf16(first_halves(x, n));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F widen_i8(const std::byte* x) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x))));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F broadcast_f16(const std::byte* x) {
    int16_t bits;
    std::memcpy(&bits, x, sizeof bits);
    return _mm256_cvtph_ps(_mm_set1_epi16(bits));
  }

  using I = __m256i;
  PARLANCE_AVX2 static PARLANCE_INLINE I byte_codes(const std::byte* x) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE I high_nibbles(I codes) { return _mm256_srli_epi32(codes, 4); }
  PARLANCE_AVX2 static PARLANCE_INLINE I nibble_codes(const std::byte* x) {
    int32_t four;
    std::memcpy(&four, x, sizeof four);
    const I bytes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
    return _mm256_or_si256(bytes, _mm256_slli_epi64(bytes, 28));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE I fields_of_3(uint64_t bits) {
    return _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(bits)),
                             _mm256_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F look_up_8(const float* table, I codes) {
    return _mm256_permutevar8x32_ps(load(table), codes);
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F look_up_16(const float* table, I codes) {
    const F is_high = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28));  // bit 3 of the code
    return _mm256_blendv_ps(look_up_8(table, codes), look_up_8(table + 8, codes), is_high);
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F look_up_512(const float* table, I codes) {
    return _mm256_i32gather_ps(table, _mm256_and_si256(codes, _mm256_set1_epi32(511)), sizeof(float));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F signed_by(uint32_t bits, F x) {
    const I is_set = _mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(bits)),
                                       _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24));
    return _mm256_blendv_ps(_mm256_sub_ps(zero(), x), x, _mm256_castsi256_ps(is_set));
  }

  PARLANCE_AVX2 static PARLANCE_INLINE F exp(F x) {
    // The operand that may be NaN comes second: these instructions return it then.
    x = _mm256_max_ps(_mm256_set1_ps(kExpLowest), _mm256_min_ps(_mm256_set1_ps(kExpHighest), x));
    const F n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(kLog2E)),
                                _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    F r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2High), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2Low), r);
    F p = _mm256_fmadd_ps(_mm256_set1_ps(kExp6), r, _mm256_set1_ps(kExp5));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kExp4));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kExp3));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kExp2));
    p = _mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r);
    p = _mm256_add_ps(p, _mm256_set1_ps(1));
    // 2^n in two factors, since one exponent reaches neither infinity nor the smallest subnormal.
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    return _mm256_mul_ps(_mm256_mul_ps(p, power_of_2(half)), power_of_2(_mm256_sub_epi32(whole, half)));
  }

  PARLANCE_AVX2 static PARLANCE_INLINE F exp2(F x) {
    x = _mm256_max_ps(_mm256_set1_ps(kPowerLowest), x);  // NaN, the second operand, is kept
    const __m256i n = _mm256_cvtps_epi32(x);
    const F f = _mm256_sub_ps(x, _mm256_cvtepi32_ps(n));
    F p = _mm256_fmadd_ps(_mm256_set1_ps(kPower5), f, _mm256_set1_ps(kPower4));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(kPower3));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(kPower2));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(kPower1));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(1));
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(n, 23)));
  }

  PARLANCE_AVX2 static PARLANCE_INLINE void transpose(F (&rows)[kWidth]) {
    F t[kWidth];
#pragma GCC unroll 2
    for (int i = 0; i < kWidth; i += 4) {  // 4x4 within each 128-bit lane
      const F a = _mm256_unpacklo_ps(rows[i], rows[i + 1]), b = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
      const F c = _mm256_unpacklo_ps(rows[i + 2], rows[i + 3]),
              d = _mm256_unpackhi_ps(rows[i + 2], rows[i + 3]);
      t[i] = _mm256_shuffle_ps(a, c, 0x44);
      t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
      t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
      t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      rows[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
      rows[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
  }

  PARLANCE_AVX2 static PARLANCE_INLINE F sums_of(const F (&rows)[kWidth]) {
    const F a = _mm256_hadd_ps(_mm256_hadd_ps(rows[0], rows[1]), _mm256_hadd_ps(rows[2], rows[3]));
    const F b = _mm256_hadd_ps(_mm256_hadd_ps(rows[4], rows[5]), _mm256_hadd_ps(rows[6], rows[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  }

  PARLANCE_AVX2 static PARLANCE_INLINE F quads_of(const float* x) {
    return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(x));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE void transpose_quads(F (&rows)[2]) {
    const F low = _mm256_permute2f128_ps(rows[0], rows[1], 0x20);
    rows[1] = _mm256_permute2f128_ps(rows[0], rows[1], 0x31);
    rows[0] = low;
  }
  PARLANCE_AVX2 static PARLANCE_INLINE void store_quad_sums(float* sums, F a) {
    a = _mm256_add_ps(a, _mm256_permute_ps(a, 0x4e));
    a = _mm256_add_ps(a, _mm256_permute_ps(a, 0xb1));
    _mm_store_ss(sums, _mm256_castps256_ps128(a));
    _mm_store_ss(sums + 1, _mm256_extractf128_ps(a, 1));
  }

 private:
  PARLANCE_AVX2 static PARLANCE_INLINE __m128i halves(const std::byte* x) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE __m128i first_halves(const std::byte* x, int64_t n) {
    alignas(16) std::byte copy[16] = {};
    std::memcpy(copy, x, static_cast<size_t>(n) * 2);
    return _mm_load_si128(reinterpret_cast<const __m128i*>(copy));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F from_bf16(__m128i x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
  }
  PARLANCE_AVX2 static PARLANCE_INLINE F power_of_2(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
  }
};

}  // namespace parlance::simd

#endif
