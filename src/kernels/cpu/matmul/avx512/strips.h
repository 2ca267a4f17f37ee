// What kernels of strips (matmul/packed_weight.h) share: lanes of a vector are sixteen rows of a strip, and
// the chains of order_of_sums.h are vectors.
#pragma once

#include "kernels/cpu/matmul/avx512/gemv.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

constexpr int kHalves = 2;  // of a strip
constexpr int64_t kHalfRows = kStripRows / kHalves;
constexpr int kPieces = 8;  // of four codes in a run

// How far behind weights are asked for that meet one token, and several. Less comes too late for eight; more
// slows down two and twelve.
constexpr int64_t kFarOfToken = 3328, kFarOfTokens = 4352;

// Asks for what comes behind `at` in a strip while kBytes are multiplied: for what lies kNear behind to be
// nearest, since its loads would hold up the products behind them, and for what is so far away that memory
// has it there in time. With less than a page between them the processor's own prefetching runs along and is
// waited for less. Line by line without a loop, which would cost as much as it hides.
template <int64_t kBytes, int64_t kNear, int64_t kFar = kFarOfToken>
INLINE_AVX512 void ask_behind(const std::byte* at) {
  constexpr int64_t kLine = 64;
  static_assert(kBytes <= 17 * kLine);
#pragma GCC unroll 17
  for (int64_t byte = 0; byte < kBytes; byte += kLine)
    _mm_prefetch(reinterpret_cast<const char*>(at + kNear + byte), _MM_HINT_T0);
#pragma GCC unroll 17
  for (int64_t byte = 0; byte < kBytes; byte += kLine)
    _mm_prefetch(reinterpret_cast<const char*>(at + kFar + byte), _MM_HINT_T1);
}

// Sums of a token and a segment, by chain.
template <int kChains>
using ChainSums = float[kChains][kHalves][kHalfRows];

// The chains, put together in the order of order_of_sums.h.
INLINE_AVX512 __m512 sum_of_chains(__m512 a, __m512 b, __m512 c, __m512 d) {
  return _mm512_add_ps(_mm512_add_ps(a, c), _mm512_add_ps(b, d));
}
INLINE_AVX512 __m512 sum_of_chains(const ChainSums<kRunChains>& sums, int half) {
  return sum_of_chains(_mm512_load_ps(sums[0][half]), _mm512_load_ps(sums[1][half]),
                       _mm512_load_ps(sums[2][half]), _mm512_load_ps(sums[3][half]));
}
INLINE_AVX512 __m512 sum_of_chains(const ChainSums<kHalfRunChains>& sums, int half) {
  __m512 pairs[kHalfRunChains / 2];
  for (int i = 0; i < kHalfRunChains / 2; ++i)
    pairs[i] = _mm512_add_ps(_mm512_load_ps(sums[i][half]), _mm512_load_ps(sums[i + 8][half]));
  return _mm512_add_ps(sum_of_chains(pairs[0], pairs[1], pairs[2], pairs[3]),
                       sum_of_chains(pairs[4], pairs[5], pairs[6], pairs[7]));
}

INLINE_AVX512 __mmask16 rows_of_half(int64_t n_rows, int half) {
  const int64_t n = std::clamp<int64_t>(n_rows - half * kHalfRows, 0, kHalfRows);
  return static_cast<__mmask16>((1 << n) - 1);
}

// Adds what a segment of rows [first, first + kStripRows) has summed up to the results of all tokens.
template <int kChains>
INLINE_AVX512 void put_segment(const GemvArgs& args, int64_t first, bool is_first,
                               const ChainSums<kChains>* sums) {
  for (int h = 0; h < kHalves; ++h) {
    const int64_t row = first + h * kHalfRows;
    const __mmask16 mask = rows_of_half(args.n_rows - first, h);
    const __m512 bias = args.bias ? _mm512_maskz_loadu_ps(mask, args.bias + row) : _mm512_setzero_ps();
    for (int t = 0; t < args.n_tokens; ++t) {
      float* out = args.out + t * args.out_stride + row;
      const __m512 start = is_first ? bias : _mm512_maskz_loadu_ps(mask, out);
      _mm512_mask_storeu_ps(out, mask, _mm512_add_ps(start, sum_of_chains(sums[t], h)));
    }
  }
}

}  // namespace parlance::matmul::avx512

#endif
