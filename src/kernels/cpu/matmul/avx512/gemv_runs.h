// gemv with AVX-512 for formats whose runs have one step each: a vector's lanes are four runs of four rows,
// lane 4 r + i that of run i of row r. A format is a struct with
//
//   kValues, kBytes     of a row in a group
//   kOrder              of the activations
//   kFours              fours of runs in a row's group
//   kVectors            of codes that a group of four rows is taken apart into
//   codes(rows, u)      unsigned codes of four rows
//   multiply(u, x, start, products)   sums, from `start` on, of the codes' products with the activations' x:
//                       a vector for each four of runs
//   kZero               value = step * (code - kZero); 0: value = step * code + offset
//   steps(rows, step, offset)    of each run
#pragma once

#include "kernels/cpu/matmul/avx512/gemv.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

constexpr int kFourRows = 4;
using FourRows = GroupOfRows<kFourRows>;

// The numbers of four runs, for each of four rows.
INLINE_AVX512 __m512 four_runs(const float* x) {
  return _mm512_broadcast_f32x4(_mm_loadu_ps(x));
}
INLINE_AVX512 __m512i four_runs(const int32_t* x) {
  return _mm512_broadcast_i32x4(load16(x));
}

// A group of four rows, ready for products.
template <class Format>
struct RunGroup {
  __m512i u[Format::kVectors];
  __m512 step[Format::kFours], offset[Format::kFours];

  INLINE_AVX512 explicit RunGroup(const FourRows& rows) {
    Format::codes(rows, u);
    Format::steps(rows, step, offset);
  }

  INLINE_AVX512 __m512 add_products(const RowActivations& x, int64_t group, __m512 sum) const {
    const int8_t* codes = x.codes[static_cast<size_t>(Format::kOrder)] + group * Format::kValues;
    const int64_t run = group * Format::kFours * 4;
    __m512i start[Format::kFours], products[Format::kFours];
    for (int f = 0; f < Format::kFours; ++f) {
      if constexpr (Format::kZero != 0) {  // what code zero contributes, taken away
        static_assert(std::has_single_bit(static_cast<unsigned>(Format::kZero)));
        start[f] = _mm512_slli_epi32(four_runs(x.minus_codes + run + 4 * f),
                                     std::countr_zero(unsigned{Format::kZero}));
      } else {
        start[f] = _mm512_setzero_si512();
      }
    }
    Format::multiply(u, codes, start, products);
    for (int f = 0; f < Format::kFours; ++f) {
      if constexpr (Format::kZero == 0) {
        sum = _mm512_fmadd_ps(offset[f], four_runs(x.sums + run + 4 * f), sum);
      }
      const __m512 scale = _mm512_mul_ps(step[f], four_runs(x.steps + run + 4 * f));
      sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[f]), scale, sum);
    }
    return sum;
  }
};

// The sums of each row's four lanes, in the order of order_of_sums.h.
INLINE_AVX512 __m128 sums_of_rows(__m512 v) {
  static constexpr LaneTable<int32_t, 16> kFirsts([](int lane) { return lane < 4 ? 4 * lane : 0; });
  v = _mm512_add_ps(v, _mm512_permute_ps(v, 0b01'00'11'10));
  v = _mm512_add_ps(v, _mm512_permute_ps(v, 0b10'11'00'01));
  return _mm512_castps512_ps128(_mm512_permutexvar_ps(kFirsts, v));
}

INLINE_AVX512 __mmask8 first_rows(int64_t n) {
  return static_cast<__mmask8>((1 << std::clamp<int64_t>(n, 0, kFourRows)) - 1);
}

// One token times rows [first, first + 4).
template <class Format>
INLINE_AVX512 void multiply_runs_of_token(const GemvArgs& args, int64_t first) {
  RowGroup<Format, kFourRows> rows(args, first);
  const __mmask8 mask = first_rows(args.n_rows - first);
  __m128 out = args.bias ? _mm_maskz_loadu_ps(mask, args.bias + first) : _mm_setzero_ps();
  for (int64_t g = 0; g < rows.n_groups();) {
    const int64_t end = std::min(g + rows.kSegmentGroups, rows.n_groups());
    __m512 sum = _mm512_setzero_ps();
    for (; g < end; ++g) {
      sum = RunGroup<Format>(rows.next(g)).add_products(args.x[0], g, sum);
    }
    out = _mm_add_ps(out, sums_of_rows(sum));
  }
  _mm_mask_storeu_ps(args.out + first, mask, out);
}

// For several tokens, as many rows as the registers hold codes of. Their sums lie in memory: there may be
// more of them than registers.
template <class Format>
constexpr int kRowFours = Format::kVectors <= 8 ? 2 : 1;
template <class Format>
using RunSums = float[kGemvTokens][kRowFours<Format>][16];

// A group of the rows times all tokens. The first group of a segment begins the sums.
template <class Format, bool kIsFirst>
INLINE_AVX512 void add_runs(const GemvArgs& args, int64_t index,
                            const GroupOfRows<kRowFours<Format> * kFourRows>& rows, RunSums<Format>& sums) {
  const RunGroup<Format> group0(rows.four(0));
  if constexpr (kRowFours<Format> == 1) {
    for (int t = 0; t < args.n_tokens; ++t) {
      const __m512 sum0 = kIsFirst ? _mm512_setzero_ps() : _mm512_load_ps(sums[t][0]);
      _mm512_store_ps(sums[t][0], group0.add_products(args.x[t], index, sum0));
    }
  } else {
    const RunGroup<Format> group1(rows.four(4));
    for (int t = 0; t < args.n_tokens; ++t) {
      const __m512 sum0 = kIsFirst ? _mm512_setzero_ps() : _mm512_load_ps(sums[t][0]);
      const __m512 sum1 = kIsFirst ? _mm512_setzero_ps() : _mm512_load_ps(sums[t][1]);
      const __m512 new0 = group0.add_products(args.x[t], index, sum0);
      const __m512 new1 = group1.add_products(args.x[t], index, sum1);
      _mm512_store_ps(sums[t][0], new0);
      _mm512_store_ps(sums[t][1], new1);
    }
  }
}

// All tokens times the rows from `first` on.
template <class Format>
INLINE_AVX512 void multiply_runs_of_tokens(const GemvArgs& args, int64_t first) {
  constexpr int kRows = kRowFours<Format> * kFourRows;
  RowGroup<Format, kRows> rows(args, first);
  alignas(64) RunSums<Format> sums;
  for (int64_t g = 0; g < rows.n_groups();) {
    const bool is_first = g == 0;
    const int64_t end = std::min(g + rows.kSegmentGroups, rows.n_groups());
    add_runs<Format, true>(args, g, rows.next(g), sums);
    for (++g; g < end; ++g) add_runs<Format, false>(args, g, rows.next(g), sums);
    for (int f = 0; f < kRowFours<Format>; ++f) {
      const int64_t row = first + f * kFourRows;
      const __mmask8 mask = first_rows(args.n_rows - row);
      const __m128 bias = args.bias ? _mm_maskz_loadu_ps(mask, args.bias + row) : _mm_setzero_ps();
      for (int t = 0; t < args.n_tokens; ++t) {
        float* out = args.out + t * args.out_stride + row;
        const __m128 start = is_first ? bias : _mm_maskz_loadu_ps(mask, out);
        _mm_mask_storeu_ps(out, mask, _mm_add_ps(start, sums_of_rows(_mm512_load_ps(sums[t][f]))));
      }
    }
  }
}

template <class Format>
PARLANCE_AVX512 void gemv_runs(const GemvArgs& args) {
  if (args.n_tokens == 1) {
    for (int64_t r = 0; r < args.n_rows; r += kFourRows) multiply_runs_of_token<Format>(args, r);
  } else {
    for (int64_t r = 0; r < args.n_rows; r += kRowFours<Format> * kFourRows)
      multiply_runs_of_tokens<Format>(args, r);
  }
}

}  // namespace parlance::matmul::avx512

#endif
