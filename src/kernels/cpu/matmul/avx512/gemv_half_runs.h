// gemv with AVX-512 for formats whose half runs have steps of their own: the lanes of a vector are the
// sixteen half runs of a row's block. A format is a struct with
//
//   kValues, kBytes     of a block
//   kOrder              of the activations
//   codes(group, u)     unsigned codes: piece p of every half run in u[p]
//   kZero               value = step * (code - kZero); 0: value = step * code + offset
//   steps(group, step, offset)   of each half run
//   x_steps, x_sums     of each half run of the block: the activations' steps, and the sums of their values
//   x_minus_codes       likewise minus the sums of their codes
#pragma once

#include "kernels/cpu/matmul/avx512/gemv.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

// Row 0 in the low half, row 1 in the high one: sums of lanes that are 8 apart.
INLINE_AVX512 __m512 halved(__m512 row0, __m512 row1) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(row0, row1, 0b01'00'01'00),
                       _mm512_shuffle_f32x4(row0, row1, 0b11'10'11'10));
}

// In each quarter, lanes i and i + 2 of a first, then of both of these: lane 0 is a's sum, lane 1 that of b.
INLINE_AVX512 __m512 quartered(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

// Lane i: the sum of all lanes of v[i], in the order of order_of_sums.h.
INLINE_AVX512 __m128 sums_of_four(const __m512 (&v)[4]) {
  const __m512 a = quartered(halved(v[0], v[1]), halved(v[2], v[3]));
  const __m512 b = _mm512_add_ps(a, _mm512_permute_ps(a, 0b01'00'11'10));
  const __m512 c = _mm512_add_ps(b, _mm512_shuffle_f32x4(b, b, 0b10'11'00'01));
  return _mm_unpacklo_ps(_mm512_castps512_ps128(c), _mm512_extractf32x4_ps(c, 2));
}

// What the rows share of a token's group.
template <class Format>
struct GroupActivations {
  const int8_t* codes;
  __m512 steps, sums;
  __m512i start;  // of the integer sums: what code zero contributes, taken away

  INLINE_AVX512 GroupActivations(const RowActivations& x, int64_t group)
      : codes(x.codes[static_cast<size_t>(Format::kOrder)] + group * Format::kValues),
        steps(Format::x_steps(x, group)) {
    if constexpr (Format::kZero != 0) {
      static_assert(std::has_single_bit(static_cast<unsigned>(Format::kZero)));
      start = _mm512_slli_epi32(Format::x_minus_codes(x, group), std::countr_zero(unsigned{Format::kZero}));
    } else {
      sums = Format::x_sums(x, group);
      start = _mm512_setzero_si512();
    }
  }
};

// One row's group, ready for products.
template <class Format>
struct Group {
  static constexpr int kVectors = Format::kValues / 64;
  __m512i u[kVectors];
  __m512 step, offset;

  INLINE_AVX512 explicit Group(const std::byte* group) {
    Format::codes(group, u);
    Format::steps(group, step, offset);
  }

  INLINE_AVX512 __m512 add_products(const GroupActivations<Format>& x, __m512 sum) const {
    __m512i products = x.start;
    for (int v = 0; v < kVectors; ++v) products = _mm512_dpbusd_epi32(products, u[v], load(x.codes + 64 * v));
    const __m512 scale = _mm512_mul_ps(step, x.steps);
    if constexpr (Format::kZero == 0) sum = _mm512_fmadd_ps(offset, x.sums, sum);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(products), scale, sum);
  }
};

// One token times rows [first, first + 4).
template <class Format>
INLINE_AVX512 void multiply_half_runs_of_token(const GemvArgs& args, int64_t first) {
  constexpr int kRows = 4;
  RowGroup<Format, kRows> rows(args, first);
  const int64_t n_rows = std::min<int64_t>(kRows, args.n_rows - first);
  const __mmask8 mask = static_cast<__mmask8>((1 << n_rows) - 1);
  __m128 out = args.bias ? _mm_maskz_loadu_ps(mask, args.bias + first) : _mm_setzero_ps();
  for (int64_t g = 0; g < rows.n_groups();) {
    const int64_t end = std::min(g + rows.kSegmentGroups, rows.n_groups());
    __m512 sums[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
    for (; g < end; ++g) {
      const GroupOfRows<kRows>& groups = rows.next(g);
      const GroupActivations<Format> x(args.x[0], g);
      for (int r = 0; r < kRows; ++r) sums[r] = Group<Format>(groups[r]).add_products(x, sums[r]);
    }
    out = _mm_add_ps(out, sums_of_four(sums));
  }
  _mm_mask_storeu_ps(args.out + first, mask, out);
}

// The sums of two rows and of all tokens lie in memory: there may be more of them than registers.
constexpr int kPairRows = 2;
using PairSums = float[kGemvTokens][kPairRows][16];

// A group of two rows times all tokens. The first group of a segment begins the sums.
template <class Format, bool kIsFirst>
INLINE_AVX512 void add_half_runs(const GemvArgs& args, int64_t index, const GroupOfRows<kPairRows>& group,
                                 PairSums& sums) {
  const Group<Format> row0(group[0]), row1(group[1]);
  for (int t = 0; t < args.n_tokens; ++t) {
    const GroupActivations<Format> x(args.x[t], index);
    const __m512 sum0 = kIsFirst ? _mm512_setzero_ps() : _mm512_load_ps(sums[t][0]);
    const __m512 sum1 = kIsFirst ? _mm512_setzero_ps() : _mm512_load_ps(sums[t][1]);
    _mm512_store_ps(sums[t][0], row0.add_products(x, sum0));
    _mm512_store_ps(sums[t][1], row1.add_products(x, sum1));
  }
}

// One token: the sum of row 0 in eight lanes, that of row 1 in the others.
INLINE_AVX512 __m512 halved(const float (&sums)[kPairRows][16]) {
  const __m512 low =
      _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_load_ps(sums[0])), _mm256_load_ps(sums[1]), 1);
  const __m512 high =
      _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_load_ps(sums[0] + 8)), _mm256_load_ps(sums[1] + 8), 1);
  return _mm512_add_ps(low, high);
}

// From halved() of four tokens: the sums of row 0 in lanes 0..3, those of row 1 in lanes 8..11.
INLINE_AVX512 __m512 sums_of_pairs(__m512 p0, __m512 p1, __m512 p2, __m512 p3) {
  const __m512d a = _mm512_castps_pd(quartered(p0, p1)), b = _mm512_castps_pd(quartered(p2, p3));
  const __m512 c =
      _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  return _mm512_add_ps(c, _mm512_shuffle_f32x4(c, c, 0b10'11'00'01));
}

// Adds a segment's sums to what all tokens have of rows first and first + 1, or to the bias.
INLINE_AVX512 void add_segment(const GemvArgs& args, int64_t first, bool is_first, const PairSums& sums) {
  const bool both = first + 1 < args.n_rows;
  const __mmask8 mask = both ? 3 : 1;
  const __m128 bias = args.bias ? _mm_maskz_loadu_ps(mask, args.bias + first) : _mm_setzero_ps();
  const int last = args.n_tokens - 1;
  for (int t = 0; t < args.n_tokens; t += 4) {
    float* out[4];
    __m128 start[4];
    for (int i = 0; i < 4; ++i) {  // the last token takes the place of those that there are not
      out[i] = args.out + first + std::min(t + i, last) * args.out_stride;
      start[i] = is_first ? bias : _mm_maskz_loadu_ps(mask, out[i]);
    }
    const __m512 both_rows =
        sums_of_pairs(halved(sums[t]), halved(sums[std::min(t + 1, last)]),
                      halved(sums[std::min(t + 2, last)]), halved(sums[std::min(t + 3, last)]));
    const __m128 row0 = _mm512_castps512_ps128(both_rows), row1 = _mm512_extractf32x4_ps(both_rows, 2);
    const __m128 sums01 = _mm_unpacklo_ps(row0, row1), sums23 = _mm_unpackhi_ps(row0, row1);
    _mm_mask_storeu_ps(out[0], mask, _mm_add_ps(start[0], sums01));
    _mm_mask_storeu_ps(out[1], mask, _mm_add_ps(start[1], _mm_movehl_ps(sums01, sums01)));
    _mm_mask_storeu_ps(out[2], mask, _mm_add_ps(start[2], sums23));
    _mm_mask_storeu_ps(out[3], mask, _mm_add_ps(start[3], _mm_movehl_ps(sums23, sums23)));
  }
}

// All tokens times rows first and first + 1.
template <class Format>
INLINE_AVX512 void multiply_half_runs_of_tokens(const GemvArgs& args, int64_t first) {
  RowGroup<Format, kPairRows> rows(args, first);
  alignas(64) PairSums sums;
  for (int64_t g = 0; g < rows.n_groups();) {
    const int64_t begin = g, end = std::min(g + rows.kSegmentGroups, rows.n_groups());
    add_half_runs<Format, true>(args, g, rows.next(g), sums);
    for (++g; g < end; ++g) add_half_runs<Format, false>(args, g, rows.next(g), sums);
    add_segment(args, first, begin == 0, sums);
  }
}

template <class Format>
PARLANCE_AVX512 void gemv_half_runs(const GemvArgs& args) {
  if (args.n_tokens == 1) {
    for (int64_t r = 0; r < args.n_rows; r += 4) multiply_half_runs_of_token<Format>(args, r);
  } else {
    for (int64_t r = 0; r < args.n_rows; r += 2) multiply_half_runs_of_tokens<Format>(args, r);
  }
}

}  // namespace parlance::matmul::avx512

#endif
