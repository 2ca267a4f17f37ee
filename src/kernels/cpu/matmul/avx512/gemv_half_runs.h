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

constexpr int kRowsAtOnce = 4;

INLINE_AVX512 __mmask8 first_of_rows(int64_t n) {
  return static_cast<__mmask8>((1 << std::clamp<int64_t>(n, 0, kRowsAtOnce)) - 1);
}

// Four rows' groups, ready for products.
template <class Format>
struct HalfRunGroups {
  static constexpr int kVectors = Format::kValues / 64;
  __m512i u[kRowsAtOnce][kVectors];
  __m512 step[kRowsAtOnce], offset[kRowsAtOnce];

  INLINE_AVX512 explicit HalfRunGroups(const GroupOfRows<kRowsAtOnce>& rows) {
    for (int r = 0; r < kRowsAtOnce; ++r) {
      Format::codes(rows[r], u[r]);
      Format::steps(rows[r], step[r], offset[r]);
    }
  }

  // Adds the products with tokens to their sums, those of several tokens side by side.
  template <int kTokens>
  INLINE_AVX512 void add_products(const RowActivations* x, int64_t group,
                                  __m512 (&sums)[kTokens][kRowsAtOnce]) const {
    const int8_t* codes[kTokens];
    __m512i products[kTokens][kRowsAtOnce];
    for (int t = 0; t < kTokens; ++t) {
      codes[t] = x[t].codes[static_cast<size_t>(Format::kOrder)] + group * Format::kValues;
      const __m512i start = start_of(x[t], group);
      for (int r = 0; r < kRowsAtOnce; ++r) products[t][r] = start;
    }
    for (int v = 0; v < kVectors; ++v) {
      for (int t = 0; t < kTokens; ++t) {
        const __m512i piece = load(codes[t] + 64 * v);
        for (int r = 0; r < kRowsAtOnce; ++r)
          products[t][r] = _mm512_dpbusd_epi32(products[t][r], u[r][v], piece);
      }
    }
    for (int t = 0; t < kTokens; ++t) {
      const __m512 x_steps = Format::x_steps(x[t], group);
      for (int r = 0; r < kRowsAtOnce; ++r) {
        __m512& sum = sums[t][r];
        if constexpr (Format::kZero == 0) sum = _mm512_fmadd_ps(offset[r], Format::x_sums(x[t], group), sum);
        sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[t][r]), _mm512_mul_ps(step[r], x_steps), sum);
      }
    }
  }

 private:
  // What integer sums start from: what code zero contributes, taken away.
  INLINE_AVX512 static __m512i start_of(const RowActivations& x, int64_t group) {
    if constexpr (Format::kZero == 0) {
      return _mm512_setzero_si512();
    } else {
      static_assert(std::has_single_bit(static_cast<unsigned>(Format::kZero)));
      return _mm512_slli_epi32(Format::x_minus_codes(x, group), std::countr_zero(unsigned{Format::kZero}));
    }
  }
};

// One token times rows [first, first + kRowsAtOnce).
template <class Format>
INLINE_AVX512 void multiply_half_runs_of_token(const GemvArgs& args, int64_t first) {
  RowGroup<Format, kRowsAtOnce> rows(args, first);
  const __mmask8 mask = first_of_rows(args.n_rows - first);
  __m128 out = args.bias ? _mm_maskz_loadu_ps(mask, args.bias + first) : _mm_setzero_ps();
  for (int64_t g = 0; g < rows.n_groups();) {
    const int64_t end = std::min(g + rows.kSegmentGroups, rows.n_groups());
    __m512 sums[1][kRowsAtOnce];
    for (__m512& sum : sums[0]) sum = _mm512_setzero_ps();
    for (; g < end; ++g) {
      const HalfRunGroups<Format> groups(rows.next(g));
      rows.ahead().ask(rows.kGroupBytes);
      groups.template add_products<1>(args.x, g, sums);
    }
    out = _mm_add_ps(out, sums_of_four(sums[0]));
  }
  _mm_mask_storeu_ps(args.out + first, mask, out);
}

// The sums of all tokens lie in memory: there may be more of them than registers.
using HalfRunSums = float[kGemvTokens][kRowsAtOnce][16];

// A group of the rows times kTokens tokens. The first group of a segment begins the sums.
template <class Format, bool kIsFirst, int kTokens>
INLINE_AVX512 void add_half_run_tile(const HalfRunGroups<Format>& groups, const RowActivations* x,
                                     int64_t index, float (*sums)[kRowsAtOnce][16]) {
  __m512 tile[kTokens][kRowsAtOnce];
  for (int t = 0; t < kTokens; ++t) {
    for (int r = 0; r < kRowsAtOnce; ++r)
      tile[t][r] = kIsFirst ? _mm512_setzero_ps() : _mm512_load_ps(sums[t][r]);
  }
  groups.template add_products<kTokens>(x, index, tile);
  for (int t = 0; t < kTokens; ++t) {
    for (int r = 0; r < kRowsAtOnce; ++r) _mm512_store_ps(sums[t][r], tile[t][r]);
  }
}

// The same for all tokens, two at a time.
template <class Format, bool kIsFirst>
INLINE_AVX512 void add_half_runs(const GemvArgs& args, int64_t index, RowGroup<Format, kRowsAtOnce>& rows,
                                 HalfRunSums& sums) {
  const HalfRunGroups<Format> groups(rows.next(index));
  Ahead ahead = rows.ahead();
  const int64_t share = ahead.share(div_up(args.n_tokens, 2));
  int t = 0;
  for (; t + 2 <= args.n_tokens; t += 2) {
    ahead.ask(share);
    add_half_run_tile<Format, kIsFirst, 2>(groups, args.x + t, index, sums + t);
  }
  if (t == args.n_tokens) return;
  ahead.ask(share);
  add_half_run_tile<Format, kIsFirst, 1>(groups, args.x + t, index, sums + t);
}

// All tokens times rows [first, first + kRowsAtOnce).
template <class Format>
INLINE_AVX512 void multiply_half_runs_of_tokens(const GemvArgs& args, int64_t first) {
  RowGroup<Format, kRowsAtOnce> rows(args, first);
  const __mmask8 mask = first_of_rows(args.n_rows - first);
  const __m128 bias = args.bias ? _mm_maskz_loadu_ps(mask, args.bias + first) : _mm_setzero_ps();
  alignas(64) HalfRunSums sums;
  for (int64_t g = 0; g < rows.n_groups();) {
    const bool is_first = g == 0;
    const int64_t end = std::min(g + rows.kSegmentGroups, rows.n_groups());
    add_half_runs<Format, true>(args, g, rows, sums);
    for (++g; g < end; ++g) add_half_runs<Format, false>(args, g, rows, sums);
    for (int t = 0; t < args.n_tokens; ++t) {
      __m512 own[kRowsAtOnce];
      for (int r = 0; r < kRowsAtOnce; ++r) own[r] = _mm512_load_ps(sums[t][r]);
      float* out = args.out + t * args.out_stride + first;
      const __m128 start = is_first ? bias : _mm_maskz_loadu_ps(mask, out);
      _mm_mask_storeu_ps(out, mask, _mm_add_ps(start, sums_of_four(own)));
    }
  }
}

template <class Format>
PARLANCE_AVX512 void gemv_half_runs(const GemvArgs& args) {
  for (int64_t r = 0; r < args.n_rows; r += kRowsAtOnce) {
    if (args.n_tokens == 1) {
      multiply_half_runs_of_token<Format>(args, r);
    } else {
      multiply_half_runs_of_tokens<Format>(args, r);
    }
  }
}

}  // namespace parlance::matmul::avx512

#endif
