// gemv with AVX-512 for formats whose runs have one step each: a vector's lanes are four runs of four rows,
// lane 4 r + i that of run i of row r. A format is a struct with
//
//   kValues, kBytes     of a row in a group
//   kOrder              of the activations
//   kFours              fours of runs in a row's group
//   kVectors            of codes that a group of four rows is taken apart into
//   codes(rows, u)      unsigned codes of four rows
//   kTileTokens         whose products are summed up side by side
//   multiply<kGroups, kTokens>(u, x, products)   adds the products of groups' codes with tokens' x to what
//                       sums start from: a vector for each four of runs
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

// kGroups groups of four rows, ready for products.
template <class Format, int kGroups>
struct RunGroups {
  __m512i u[kGroups][Format::kVectors];
  __m512 step[kGroups][Format::kFours], offset[kGroups][Format::kFours];

  INLINE_AVX512 explicit RunGroups(const GroupOfRows<kGroups * kFourRows>& rows) {
    for (int g = 0; g < kGroups; ++g) {
      Format::codes(rows.four(g * kFourRows), u[g]);
      Format::steps(rows.four(g * kFourRows), step[g], offset[g]);
    }
  }

  // Adds the products with tokens to their sums. A sum of products waits for each of them: those of several
  // tokens are made side by side.
  template <int kTokens>
  INLINE_AVX512 void add_products(const RowActivations* x, int64_t group,
                                  __m512 (&sums)[kTokens][kGroups]) const {
    const int64_t run = group * Format::kFours * 4;
    const int8_t* codes[kTokens];
    __m512i products[kTokens][kGroups][Format::kFours];
    for (int t = 0; t < kTokens; ++t) {
      codes[t] = x[t].codes[static_cast<size_t>(Format::kOrder)] + group * Format::kValues;
      for (int f = 0; f < Format::kFours; ++f) {
        const __m512i start = start_of(x[t], run + 4 * f);
        for (int g = 0; g < kGroups; ++g) products[t][g][f] = start;
      }
    }
    Format::template multiply<kGroups, kTokens>(u, codes, products);
    for (int t = 0; t < kTokens; ++t) {
      for (int f = 0; f < Format::kFours; ++f) {
        const __m512 x_steps = four_runs(x[t].steps + run + 4 * f);
        for (int g = 0; g < kGroups; ++g) {
          __m512& sum = sums[t][g];
          if constexpr (Format::kZero == 0) {
            sum = _mm512_fmadd_ps(offset[g][f], four_runs(x[t].sums + run + 4 * f), sum);
          }
          sum =
              _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[t][g][f]), _mm512_mul_ps(step[g][f], x_steps), sum);
        }
      }
    }
  }

 private:
  // What integer sums start from: what code zero contributes, taken away.
  INLINE_AVX512 static __m512i start_of(const RowActivations& x, int64_t run) {
    if constexpr (Format::kZero == 0) {
      return _mm512_setzero_si512();
    } else {
      static_assert(std::has_single_bit(static_cast<unsigned>(Format::kZero)));
      return _mm512_slli_epi32(four_runs(x.minus_codes + run), std::countr_zero(unsigned{Format::kZero}));
    }
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
    __m512 sums[1][1] = {{_mm512_setzero_ps()}};
    for (; g < end; ++g) {
      const RunGroups<Format, 1> group(rows.next(g));
      rows.ahead().ask(rows.kGroupBytes);
      group.template add_products<1>(args.x, g, sums);
    }
    out = _mm_add_ps(out, sums_of_rows(sums[0][0]));
  }
  _mm_mask_storeu_ps(args.out + first, mask, out);
}

// For several tokens, as many rows as the registers hold codes of. Their sums lie in memory: there may be
// more of them than registers.
template <class Format>
constexpr int kRowFours = Format::kVectors <= 8 ? 2 : 1;
template <class Format>
using RunSums = float[kGemvTokens][kRowFours<Format>][16];

// A group of the rows times kTokens tokens. The first group of a segment begins the sums.
template <class Format, bool kIsFirst, int kTokens>
INLINE_AVX512 void add_tile(const RunGroups<Format, kRowFours<Format>>& groups, const RowActivations* x,
                            int64_t index, float (*sums)[kRowFours<Format>][16]) {
  __m512 tile[kTokens][kRowFours<Format>];
  for (int t = 0; t < kTokens; ++t) {
    for (int g = 0; g < kRowFours<Format>; ++g)
      tile[t][g] = kIsFirst ? _mm512_setzero_ps() : _mm512_load_ps(sums[t][g]);
  }
  groups.template add_products<kTokens>(x, index, tile);
  for (int t = 0; t < kTokens; ++t) {
    for (int g = 0; g < kRowFours<Format>; ++g) _mm512_store_ps(sums[t][g], tile[t][g]);
  }
}

// The same for all tokens, tile by tile.
template <class Format, bool kIsFirst>
INLINE_AVX512 void add_runs(const GemvArgs& args, int64_t index,
                            RowGroup<Format, kRowFours<Format> * kFourRows>& rows, RunSums<Format>& sums) {
  constexpr int kTokens = Format::kTileTokens;
  const RunGroups<Format, kRowFours<Format>> groups(rows.next(index));
  Ahead ahead = rows.ahead();
  const int64_t share = ahead.share(div_up(args.n_tokens, kTokens));
  int t = 0;
  for (; t + kTokens <= args.n_tokens; t += kTokens) {
    ahead.ask(share);
    add_tile<Format, kIsFirst, kTokens>(groups, args.x + t, index, sums + t);
  }
  const int rest = args.n_tokens - t;
  if (rest == 0) return;
  ahead.ask(share);
  static_assert(kTokens == 2 || kTokens == 4);
  if (rest == 1) return add_tile<Format, kIsFirst, 1>(groups, args.x + t, index, sums + t);
  if constexpr (kTokens == 4) {
    if (rest == 2) return add_tile<Format, kIsFirst, 2>(groups, args.x + t, index, sums + t);
    return add_tile<Format, kIsFirst, 3>(groups, args.x + t, index, sums + t);
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
    add_runs<Format, true>(args, g, rows, sums);
    for (++g; g < end; ++g) add_runs<Format, false>(args, g, rows, sums);
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
