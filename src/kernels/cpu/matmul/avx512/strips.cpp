// Packed weights with AVX-512. A vector's lanes are sixteen rows of a strip: codes come ready for products,
// and those of a run with a token, whose codes are the same for all lanes, are sums of their own rows. The
// chains of order_of_sums.h are vectors here. A format is a struct with
//
//   kBlockBytes       of a row in a run
//   kZero             value = step * (code - kZero)
//   codes(x, u)       unsigned codes of sixteen rows: vector p has piece p of the run
#include <bit>

#include "kernels/cpu/matmul/avx512/strips.h"

#ifdef PARLANCE_X86

#include "quant/q4_0.h"
#include "quant/q8_0.h"

namespace parlance::matmul::avx512 {

namespace {

struct Q4_0 {
  static constexpr int64_t kBlockBytes = sizeof(BlockQ4_0);
  static constexpr int kZero = 8;
  INLINE_AVX512 static void codes(const std::byte* x, __m512i (&u)[kPieces]) {
    const __m512i mask = _mm512_set1_epi8(15);
    for (int i = 0; i < 4; ++i) {
      const __m512i both = load(x + 64 * i);
      u[i] = _mm512_and_si512(both, mask);
      u[4 + i] = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
    }
  }
};

// Each code moved up by 128.
struct Q8_0 {
  static constexpr int64_t kBlockBytes = sizeof(BlockQ8_0);
  static constexpr int kZero = 128;
  INLINE_AVX512 static void codes(const std::byte* x, __m512i (&u)[kPieces]) {
    for (int i = 0; i < kPieces; ++i) u[i] = _mm512_xor_si512(load(x + 64 * i), _mm512_set1_epi8(-128));
  }
};

// A run of a strip, ready for products.
template <class Format>
struct StripRun {
  static constexpr int64_t kBytes = kStripRows * Format::kBlockBytes;
  static constexpr int64_t kCodeBytes = kHalfRows * (Format::kBlockBytes - 2);  // of half the rows

  __m512i u[kHalves][kPieces];
  __m512 step[kHalves];

  INLINE_AVX512 explicit StripRun(const std::byte* run) {
    for (int h = 0; h < kHalves; ++h) {
      Format::codes(run + h * kCodeBytes, u[h]);
      const std::byte* steps = run + kHalves * kCodeBytes + h * kHalfRows * 2;
      step[h] = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(steps)));
    }
  }

  // Adds the products with tokens to their sums of one chain.
  template <int kTokens>
  INLINE_AVX512 void add_products(const RowActivations* x, int64_t run,
                                  __m512 (&sums)[kTokens][kHalves]) const {
    const int8_t* codes[kTokens];
    __m512i products[kTokens][kHalves];
    for (int t = 0; t < kTokens; ++t) {
      codes[t] = x[t].codes[static_cast<size_t>(Order::natural)] + run * kRun;
      // What code zero contributes, taken away.
      const __m512i start = _mm512_slli_epi32(_mm512_set1_epi32(x[t].minus_codes[run]),
                                              std::countr_zero(unsigned{Format::kZero}));
      for (int h = 0; h < kHalves; ++h) products[t][h] = start;
    }
    for (int p = 0; p < kPieces; ++p) {
      for (int t = 0; t < kTokens; ++t) {
        int32_t four;
        std::memcpy(&four, codes[t] + 4 * p, sizeof(four));
        const __m512i piece = _mm512_set1_epi32(four);
        for (int h = 0; h < kHalves; ++h)
          products[t][h] = _mm512_dpbusd_epi32(products[t][h], u[h][p], piece);
      }
    }
    for (int t = 0; t < kTokens; ++t) {
      const __m512 x_step = _mm512_set1_ps(x[t].steps[run]);
      for (int h = 0; h < kHalves; ++h) {
        sums[t][h] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[t][h]), _mm512_mul_ps(step[h], x_step), sums[t][h]);
      }
    }
  }
};

// One token times rows [first, first + kStripRows).
template <class Format>
INLINE_AVX512 void multiply_strip_of_token(const GemvArgs& args, int64_t first) {
  using Run = StripRun<Format>;
  const std::byte* strip = args.weight + static_cast<size_t>(first) * args.row_bytes;
  const int64_t n_runs = args.n_in / kRun;
  __m512 out[kHalves];
  for (int h = 0; h < kHalves; ++h) {
    out[h] = args.bias ? _mm512_maskz_loadu_ps(rows_of_half(args.n_rows - first, h),
                                               args.bias + first + h * kHalfRows)
                       : _mm512_setzero_ps();
  }
  for (int64_t run = 0; run < n_runs;) {
    const int64_t end = std::min(run + kSegmentRuns, n_runs);
    __m512 sums[kRunChains][1][kHalves];
    for (int c = 0; c < kRunChains; ++c) {
      for (int h = 0; h < kHalves; ++h) sums[c][0][h] = _mm512_setzero_ps();
    }
    for (; run < end; run += kRunChains) {
#pragma GCC unroll 4
      for (int c = 0; c < kRunChains; ++c) {
        if (run + c >= end) break;
        const std::byte* at = strip + (run + c) * Run::kBytes;
        ask_behind<StripRun<Format>::kBytes, StripRun<Format>::kBytes>(at);
        Run(at).template add_products<1>(args.x, run + c, sums[c]);
      }
    }
    for (int h = 0; h < kHalves; ++h) {
      out[h] =
          _mm512_add_ps(out[h], sum_of_chains(sums[0][0][h], sums[1][0][h], sums[2][0][h], sums[3][0][h]));
    }
  }
  for (int h = 0; h < kHalves; ++h)
    _mm512_mask_storeu_ps(args.out + first + h * kHalfRows, rows_of_half(args.n_rows - first, h), out[h]);
}

// A run of a strip times kTokens tokens.
template <class Format, int kTokens>
INLINE_AVX512 void add_tile(const StripRun<Format>& strip, const RowActivations* x, int64_t run,
                            ChainSums<kRunChains>* sums) {
  const auto chain = static_cast<size_t>(run % kRunChains);
  __m512 tile[kTokens][kHalves];
  for (int t = 0; t < kTokens; ++t) {
    for (int h = 0; h < kHalves; ++h) tile[t][h] = _mm512_load_ps(sums[t][chain][h]);
  }
  strip.template add_products<kTokens>(x, run, tile);
  for (int t = 0; t < kTokens; ++t) {
    for (int h = 0; h < kHalves; ++h) _mm512_store_ps(sums[t][chain][h], tile[t][h]);
  }
}

// The same for all tokens, tile by tile.
template <class Format>
INLINE_AVX512 void add_run(const GemvArgs& args, const std::byte* at, int64_t run,
                           ChainSums<kRunChains>* sums) {
  constexpr int kTokens = 4;
  const StripRun<Format> strip(at);
  ask_behind<StripRun<Format>::kBytes, StripRun<Format>::kBytes, kFarOfTokens>(at);
  int t = 0;
  for (; t + kTokens <= args.n_tokens; t += kTokens)
    add_tile<Format, kTokens>(strip, args.x + t, run, sums + t);
  switch (args.n_tokens - t) {
    case 1:
      return add_tile<Format, 1>(strip, args.x + t, run, sums + t);
    case 2:
      return add_tile<Format, 2>(strip, args.x + t, run, sums + t);
    case 3:
      return add_tile<Format, 3>(strip, args.x + t, run, sums + t);
    default:
      return;
  }
}

// All tokens times rows [first, first + kStripRows).
template <class Format>
INLINE_AVX512 void multiply_strip_of_tokens(const GemvArgs& args, int64_t first) {
  const std::byte* strip = args.weight + static_cast<size_t>(first) * args.row_bytes;
  const int64_t n_runs = args.n_in / kRun;
  alignas(64) ChainSums<kRunChains> sums[kGemvTokens];
  for (int64_t run = 0; run < n_runs;) {
    const bool is_first = run == 0;
    const int64_t end = std::min(run + kSegmentRuns, n_runs);
    std::memset(sums, 0, static_cast<size_t>(args.n_tokens) * sizeof(sums[0]));
    for (; run < end; ++run) add_run<Format>(args, strip + run * StripRun<Format>::kBytes, run, sums);
    put_segment<kRunChains>(args, first, is_first, sums);
  }
}

template <class Format>
PARLANCE_AVX512 void gemv_strips(const GemvArgs& args) {
  static_assert(kRunChains == 4 && kSegmentRuns % kRunChains == 0);
  for (int64_t row = 0; row < args.n_rows; row += kStripRows) {
    if (args.n_tokens == 1) {
      multiply_strip_of_token<Format>(args, row);
    } else {
      multiply_strip_of_tokens<Format>(args, row);
    }
  }
}

template <class Format>
PARLANCE_AVX512 void unpack_strip(const UnpackArgs& args) {
  const Panel& panel = args.panel;
  const __m512i zero = _mm512_set1_epi8(static_cast<char>(Format::kZero));
  for (int64_t run = 0; run < args.n_runs; ++run) {
    const StripRun<Format> strip(args.rows[0] + run * StripRun<Format>::kBytes);
    for (int h = 0; h < kHalves; ++h) {
      __m512i sum = _mm512_setzero_si512();
      for (int p = 0; p < kPieces; ++p) {
        const __m512i codes = _mm512_sub_epi8(strip.u[h][p], zero);
        sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(-128), codes);
        _mm512_storeu_si512(panel.codes + ((run * kPieces + p) * kStripRows + h * kHalfRows) * 4, codes);
      }
      const int64_t at = run * kStripRows + h * kHalfRows;
      _mm512_storeu_si512(panel.start + at, _mm512_sub_epi32(_mm512_setzero_si512(), sum));
      _mm512_storeu_ps(panel.steps + at, strip.step[h]);
    }
  }
}

}  // namespace

PARLANCE_AVX512 void gemv_strips_q8_0(const GemvArgs& args) {
  gemv_strips<Q8_0>(args);
}
PARLANCE_AVX512 void gemv_strips_q4_0(const GemvArgs& args) {
  gemv_strips<Q4_0>(args);
}
PARLANCE_AVX512 void unpack_strip_q8_0(const UnpackArgs& args) {
  unpack_strip<Q8_0>(args);
}
PARLANCE_AVX512 void unpack_strip_q4_0(const UnpackArgs& args) {
  unpack_strip<Q4_0>(args);
}

}  // namespace parlance::matmul::avx512

#endif
