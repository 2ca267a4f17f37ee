// Activations as bytes with AVX-512: one run, or a row of them, where sixteen runs share the work between
// lanes.
#include <bit>

#include "kernels/cpu/matmul/avx512/quantised.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

namespace {

#define INLINE_AVX512 PARLANCE_AVX512 PARLANCE_INLINE

constexpr int kLanes = 16;

// The larger of magnitudes, which are ordered as their bits are; NaN is the largest.
INLINE_AVX512 __m512 larger(__m512 a, __m512 b) {
  return _mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}

// Lane i: the largest magnitude of run i of sixteen.
INLINE_AVX512 __m512 magnitudes(const float* x) {
  __m512 runs[16];
  for (int i = 0; i < 16; ++i) {
    runs[i] = larger(_mm512_abs_ps(_mm512_loadu_ps(x + i * kRun)),
                     _mm512_abs_ps(_mm512_loadu_ps(x + i * kRun + 16)));
  }
  // Two vectors at a time become one in which each has half as many lanes.
  __m512 halves[8];  // runs i, i + 8
  for (int i = 0; i < 8; ++i) {
    halves[i] = larger(_mm512_shuffle_f32x4(runs[i], runs[i + 8], 0b01'00'01'00),
                       _mm512_shuffle_f32x4(runs[i], runs[i + 8], 0b11'10'11'10));
  }
  __m512 quarters[4];  // runs i, i + 8, i + 4, i + 12
  for (int i = 0; i < 4; ++i) {
    quarters[i] = larger(_mm512_shuffle_f32x4(halves[i], halves[i + 4], 0b10'00'10'00),
                         _mm512_shuffle_f32x4(halves[i], halves[i + 4], 0b11'01'11'01));
  }
  __m512 pairs[2];
  for (int i = 0; i < 2; ++i) {
    pairs[i] = larger(_mm512_unpacklo_ps(quarters[i], quarters[i + 2]),
                      _mm512_unpackhi_ps(quarters[i], quarters[i + 2]));
  }
  const __m512 all = larger(_mm512_unpacklo_ps(pairs[0], pairs[1]), _mm512_unpackhi_ps(pairs[0], pairs[1]));
  return _mm512_shuffle_f32x4(all, all, 0b11'01'10'00);
}

// Lane i: the sum of codes 16 i .. of 256.
INLINE_AVX512 __m512i sums_of_halves(const int8_t* codes) {
  __m512i fours[4];
  for (int i = 0; i < 4; ++i) {
    fours[i] =
        _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1), _mm512_loadu_si512(codes + 64 * i));
  }
  const __m512i a =
      _mm512_add_epi32(_mm512_unpacklo_epi32(fours[0], fours[1]), _mm512_unpackhi_epi32(fours[0], fours[1]));
  const __m512i b =
      _mm512_add_epi32(_mm512_unpacklo_epi32(fours[2], fours[3]), _mm512_unpackhi_epi32(fours[2], fours[3]));
  const __m512i sums = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, sums);
}

// Sixteen runs.
INLINE_AVX512 void quantise_group(const float* x, const RowCodes& row) {
  const __m512 largest = magnitudes(x), scale = _mm512_set1_ps(127.0f);
  const __mmask16 counts = _mm512_cmp_ps_mask(largest, _mm512_set1_ps(kSmallestMagnitude), _CMP_NLT_UQ);
  const __m512 steps = _mm512_maskz_div_ps(counts, largest, scale);
  alignas(64) float inverse[kLanes];
  _mm512_store_ps(inverse, _mm512_maskz_div_ps(counts, scale, largest));
  for (int i = 0; i < 2 * kLanes; ++i) {
    const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(x + 16 * i), _mm512_set1_ps(inverse[i / 2]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row.codes + 16 * i),
                     _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(scaled)));
  }

  const __m512i zero = _mm512_setzero_si512();
  const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  __m512i halves[2];
  for (int i = 0; i < 2; ++i) {
    halves[i] = sums_of_halves(row.codes + 256 * i);
    const __m512 own_steps = _mm512_permutexvar_ps(_mm512_add_epi32(twice, _mm512_set1_epi32(8 * i)), steps);
    _mm512_storeu_ps(row.half_sums + 16 * i, _mm512_mul_ps(own_steps, _mm512_cvtepi32_ps(halves[i])));
    _mm512_storeu_si512(row.half_minus_codes + 16 * i, _mm512_sub_epi32(zero, halves[i]));
  }
  const __m512i sums = _mm512_add_epi32(_mm512_permutex2var_epi32(halves[0], even, halves[1]),
                                        _mm512_permutex2var_epi32(halves[0], odd, halves[1]));
  _mm512_storeu_ps(row.steps, steps);
  _mm512_storeu_ps(row.sums, _mm512_mul_ps(steps, _mm512_cvtepi32_ps(sums)));
  _mm512_storeu_si512(row.minus_codes, _mm512_sub_epi32(zero, sums));
}

PARLANCE_AVX512 RunCodes quantise(const float* x) {
  const __m512 low = _mm512_loadu_ps(x), high = _mm512_loadu_ps(x + 16);
  const float magnitude = std::bit_cast<float>(
      _mm512_reduce_max_epi32(_mm512_castps_si512(larger(_mm512_abs_ps(low), _mm512_abs_ps(high)))));
  const bool tiny = magnitude < kSmallestMagnitude;
  const __m512 inverse = _mm512_set1_ps(tiny ? 0.0f : 127.0f / magnitude);
  // NaN becomes the least integer, which sums have no room for.
  const __m512i least = _mm512_set1_epi32(-128);
  const __m512i low_codes = _mm512_max_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(low, inverse)), least);
  const __m512i high_codes = _mm512_max_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(high, inverse)), least);
  RunCodes run;
  _mm_store_si128(reinterpret_cast<__m128i*>(run.codes), _mm512_cvtepi32_epi8(low_codes));
  _mm_store_si128(reinterpret_cast<__m128i*>(run.codes + 16), _mm512_cvtepi32_epi8(high_codes));
  run.half_sums[0] = _mm512_reduce_add_epi32(low_codes);
  run.half_sums[1] = _mm512_reduce_add_epi32(high_codes);
  run.step = tiny ? 0.0f : magnitude / 127.0f;
  return run;
}

}  // namespace

PARLANCE_AVX512 void quantise_row(const float* x, int64_t n_runs, const RowCodes& row) {
  int64_t run = 0;
  for (; run + kLanes <= n_runs; run += kLanes) quantise_group(x + run * kRun, row.from(run));
  for (; run < n_runs; ++run) row.put(run, quantise(x + run * kRun));
}

}  // namespace parlance::matmul::avx512

#endif
