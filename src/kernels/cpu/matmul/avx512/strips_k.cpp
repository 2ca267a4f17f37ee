// Packed weights of formats with 256 values in a block, with AVX-512. Steps of a strip's block lie before its
// codes. A format is a struct with
//
//   kBlockBytes            of a row
//   kParts                 of a run, that have steps of their own
//   kZero                  value = step * (code - kZero), or, where it is 0, step * code + offset
//   kMostTokens            whose sums stay in the first level cache
//   kNear                  how far behind is what is multiplied when its loads are due
//   codes(block, run, u)   unsigned codes of the strip's halves: u[h][p] has piece p of the run
//   steps(block, run, step, offset)   of each part and half; of a run and half
#include <bit>

#include "kernels/cpu/matmul/avx512/strips.h"

#ifdef PARLANCE_X86

#include "quant/q4_k.h"
#include "quant/q6_k.h"

namespace parlance::matmul::avx512 {

namespace {

constexpr int64_t kBlockRuns = 8;
constexpr int64_t kVectorBytes = 64;

INLINE_AVX512 __m256i bytes_of_rows(const std::byte* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}
INLINE_AVX512 __m256i byte_of_rows(const std::byte* bytes, int64_t i) {
  return bytes_of_rows(bytes + i * kStripRows);
}
INLINE_AVX512 __m256i both(__m256i bytes, int mask) {
  return _mm256_and_si256(bytes, _mm256_set1_epi8(static_cast<char>(mask)));
}
// Those of half the rows.
INLINE_AVX512 __m512 floats_of_half(__m256i bytes, int half) {
  const __m128i own = half == 0 ? _mm256_castsi256_si128(bytes) : _mm256_extracti128_si256(bytes, 1);
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(own));
}
INLINE_AVX512 __m512 halves_of_rows(const std::byte* halves, int half) {
  return _mm512_cvtph_ps(bytes_of_rows(halves + half * kHalfRows * 2));
}

struct Q4K {
  static constexpr int64_t kBlockBytes = sizeof(BlockQ4K);
  static constexpr int kParts = 1;
  static constexpr int kZero = 0;
  static constexpr int kMostTokens = kGemvTokens;
  static constexpr int64_t kNear = 2 * kStripRows * kBlockBytes / kBlockRuns;  // two runs

  // A vector has pieces of two runs.
  INLINE_AVX512 static void codes(const std::byte* block, int64_t run, __m512i (&u)[kHalves][kPieces]) {
    const std::byte* at = block + 16 * kStripRows + run / 2 * kHalves * kPieces * kVectorBytes;
    const __m512i mask = _mm512_set1_epi8(15);
    for (int h = 0; h < kHalves; ++h) {
      for (int p = 0; p < kPieces; ++p) u[h][p] = load(at + (h * kPieces + p) * kVectorBytes);
    }
    if (run % 2 != 0) {
      for (int h = 0; h < kHalves; ++h) {
        for (int p = 0; p < kPieces; ++p) u[h][p] = _mm512_srli_epi16(u[h][p], 4);
      }
    }
    for (int h = 0; h < kHalves; ++h) {
      for (int p = 0; p < kPieces; ++p) u[h][p] = _mm512_and_si512(u[h][p], mask);
    }
  }

  // See unpack_k_scales().
  INLINE_AVX512 static void steps(const std::byte* block, int64_t run, __m512 (&step)[kParts][kHalves],
                                  __m512 (&offset)[kHalves]) {
    const std::byte* scales = block + 4 * kStripRows;
    __m256i scale, minimum;
    if (run < 4) {
      scale = both(byte_of_rows(scales, run), 63);
      minimum = both(byte_of_rows(scales, run + 4), 63);
    } else {
      const __m256i low = byte_of_rows(scales, run + 4);
      scale = _mm256_or_si256(both(low, 15), both(_mm256_srli_epi16(byte_of_rows(scales, run - 4), 2), 0x30));
      minimum = _mm256_or_si256(both(_mm256_srli_epi16(low, 4), 15),
                                both(_mm256_srli_epi16(byte_of_rows(scales, run), 2), 0x30));
    }
    for (int h = 0; h < kHalves; ++h) {
      const __m512 minus_dmin = _mm512_sub_ps(_mm512_setzero_ps(), halves_of_rows(block + 2 * kStripRows, h));
      step[0][h] = _mm512_mul_ps(floats_of_half(scale, h), halves_of_rows(block, h));
      offset[h] = _mm512_mul_ps(floats_of_half(minimum, h), minus_dmin);
    }
  }
};

struct Q6K {
  static constexpr int64_t kBlockBytes = sizeof(BlockQ6K);
  static constexpr int kParts = 2;
  static constexpr int kZero = 32;
  static constexpr int kMostTokens = 16;
  static constexpr int64_t kNear = kHalves * 3 * kPieces * kVectorBytes;  // four runs' codes

  // Of four runs: the lower bits of two runs in each of 16 vectors, then the upper ones of all in 8.
  INLINE_AVX512 static void codes(const std::byte* block, int64_t run, __m512i (&u)[kHalves][kPieces]) {
    constexpr int64_t kRunsBytes = kHalves * 3 * kPieces * kVectorBytes;
    const std::byte* low = block + 18 * kStripRows + run / 4 * kRunsBytes + run % 2 * kPieces * kVectorBytes;
    const std::byte* high =
        block + 18 * kStripRows + run / 4 * kRunsBytes + kHalves * 2 * kPieces * kVectorBytes;
    __m512i upper[kHalves][kPieces];
    for (int h = 0; h < kHalves; ++h) {
      for (int p = 0; p < kPieces; ++p) {
        u[h][p] = load(low + (h * 2 * kPieces + p) * kVectorBytes);
        upper[h][p] = load(high + (h * kPieces + p) * kVectorBytes);
      }
    }
    switch (run % 4) {
      case 0:
        return join<0, 4, 0>(u, upper);
      case 1:
        return join<0, 2, 0>(u, upper);
      case 2:
        return join<4, 0, 0>(u, upper);
      default:
        return join<4, 0, 2>(u, upper);
    }
  }

  INLINE_AVX512 static void steps(const std::byte* block, int64_t run, __m512 (&step)[kParts][kHalves],
                                  __m512 (&)[kHalves]) {
    for (int part = 0; part < kParts; ++part) {
      const __m256i scale = bytes_of_rows(block + (2 + 2 * run + part) * kStripRows);
      for (int h = 0; h < kHalves; ++h)
        step[part][h] = _mm512_mul_ps(floats_of_half(scale, h), halves_of_rows(block, h));
    }
  }

 private:
  template <int kLowRight, int kHighLeft, int kHighRight>
  INLINE_AVX512 static void join(__m512i (&u)[kHalves][kPieces], const __m512i (&upper)[kHalves][kPieces]) {
    constexpr int kFirstOrBothOthers = 0xf8;
    for (int h = 0; h < kHalves; ++h) {
      for (int p = 0; p < kPieces; ++p) {
        __m512i low = u[h][p], high = upper[h][p];
        if (kLowRight != 0) low = _mm512_srli_epi16(low, kLowRight);
        if (kHighLeft != 0) high = _mm512_slli_epi16(high, kHighLeft);
        if (kHighRight != 0) high = _mm512_srli_epi16(high, kHighRight);
        u[h][p] = _mm512_ternarylogic_epi32(_mm512_and_si512(low, _mm512_set1_epi8(15)), high,
                                            _mm512_set1_epi8(0x30), kFirstOrBothOthers);
      }
    }
  }
};

// A run of a strip, ready for products.
template <class Format>
struct StripRun {
  static constexpr int kParts = Format::kParts;
  static constexpr int kPartPieces = kPieces / kParts;
  static constexpr int kChains = kParts == 1 ? kRunChains : kHalfRunChains;

  __m512i u[kHalves][kPieces];
  __m512 step[kParts][kHalves], offset[kHalves];

  INLINE_AVX512 StripRun(const std::byte* block, int64_t run) {
    Format::codes(block, run, u);
    Format::steps(block, run, step, offset);
  }

  // Adds the products with tokens to their sums. `run` counts from the row's first one.
  template <int kTokens>
  INLINE_AVX512 void add_products(const RowActivations* x, int64_t run, ChainSums<kChains>* sums) const {
    const int8_t* codes[kTokens];
    for (int t = 0; t < kTokens; ++t) codes[t] = x[t].codes[static_cast<size_t>(Order::natural)] + run * kRun;
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      __m512i products[kTokens][kHalves];
      for (int t = 0; t < kTokens; ++t) {
        for (int h = 0; h < kHalves; ++h) products[t][h] = start_of(x[t], run * kParts + part);
      }
      for (int p = part * kPartPieces; p < (part + 1) * kPartPieces; ++p) {
        for (int t = 0; t < kTokens; ++t) {
          int32_t four;
          std::memcpy(&four, codes[t] + 4 * p, sizeof(four));
          const __m512i piece = _mm512_set1_epi32(four);
          for (int h = 0; h < kHalves; ++h)
            products[t][h] = _mm512_dpbusd_epi32(products[t][h], u[h][p], piece);
        }
      }
      const auto chain = static_cast<size_t>((run * kParts + part) % kChains);
      for (int t = 0; t < kTokens; ++t) {
        const __m512 x_step = _mm512_set1_ps(x[t].steps[run]);
        for (int h = 0; h < kHalves; ++h) {
          float* own = sums[t][chain][h];
          __m512 sum = _mm512_load_ps(own);
          if constexpr (Format::kZero == 0)
            sum = _mm512_fmadd_ps(offset[h], _mm512_set1_ps(x[t].sums[run]), sum);
          sum =
              _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[t][h]), _mm512_mul_ps(step[part][h], x_step), sum);
          _mm512_store_ps(own, sum);
        }
      }
    }
  }

 private:
  // What integer sums of half run `part` start from: what code zero contributes, taken away.
  INLINE_AVX512 static __m512i start_of(const RowActivations& x, int64_t part) {
    if constexpr (Format::kZero == 0) {
      return _mm512_setzero_si512();
    } else {
      return _mm512_slli_epi32(_mm512_set1_epi32(x.half_minus_codes[part]),
                               std::countr_zero(unsigned{Format::kZero}));
    }
  }
};

// A run of a strip times all tokens, four at a time.
template <class Format>
INLINE_AVX512 void add_run(const GemvArgs& args, const std::byte* block, int64_t run,
                           ChainSums<StripRun<Format>::kChains>* sums) {
  constexpr int kTokens = 4;
  constexpr int64_t kRunBytes = kStripRows * Format::kBlockBytes / kBlockRuns;
  const StripRun<Format> strip(block, run % kBlockRuns);
  const std::byte* const at = block + run % kBlockRuns * kRunBytes;
  if (args.n_tokens == 1) {
    ask_behind<kRunBytes, Format::kNear>(at);
  } else {
    ask_behind<kRunBytes, Format::kNear, kFarOfTokens>(at);
  }
  int t = 0;
  for (; t + kTokens <= args.n_tokens; t += kTokens)
    strip.template add_products<kTokens>(args.x + t, run, sums + t);
  switch (args.n_tokens - t) {
    case 1:
      return strip.template add_products<1>(args.x + t, run, sums + t);
    case 2:
      return strip.template add_products<2>(args.x + t, run, sums + t);
    case 3:
      return strip.template add_products<3>(args.x + t, run, sums + t);
    default:
      return;
  }
}

// Up to Format::kMostTokens tokens times rows [first, first + kStripRows).
template <class Format>
INLINE_AVX512 void multiply_strip(const GemvArgs& args, int64_t first) {
  constexpr int kChains = StripRun<Format>::kChains;
  constexpr int64_t kBytes = kStripRows * Format::kBlockBytes;
  const std::byte* strip = args.weight + static_cast<size_t>(first) * args.row_bytes;
  const int64_t n_runs = args.n_in / kRun;
  alignas(64) ChainSums<kChains> sums[Format::kMostTokens];
  for (int64_t run = 0; run < n_runs;) {
    const bool is_first = run == 0;
    const int64_t end = std::min(run + kSegmentRuns, n_runs);
    std::memset(sums, 0, static_cast<size_t>(args.n_tokens) * sizeof(sums[0]));
    for (; run < end; ++run) add_run<Format>(args, strip + run / kBlockRuns * kBytes, run, sums);
    put_segment<kChains>(args, first, is_first, sums);
  }
}

template <class Format>
PARLANCE_AVX512 void gemv_strips(const GemvArgs& args) {
  const int at_once = div_up(args.n_tokens, div_up(args.n_tokens, Format::kMostTokens));
  for (int64_t row = 0; row < args.n_rows; row += kStripRows) {
    for (int t = 0; t < args.n_tokens; t += at_once) {
      GemvArgs part = args;
      part.x += t;
      part.n_tokens = std::min(args.n_tokens - t, at_once);
      part.out += t * args.out_stride;
      multiply_strip<Format>(part, row);
    }
  }
}

template <class Format>
PARLANCE_AVX512 void unpack_strip(const UnpackArgs& args) {
  constexpr int kParts = Format::kParts;
  constexpr int64_t kBytes = kStripRows * Format::kBlockBytes;
  const Panel& panel = args.panel;
  const __m512i zero = _mm512_set1_epi8(static_cast<char>(Format::kZero));
  for (int64_t run = 0; run < args.n_runs; ++run) {
    const StripRun<Format> strip(args.rows[0] + run / kBlockRuns * kBytes, run % kBlockRuns);
    for (int h = 0; h < kHalves; ++h) {
      for (int part = 0; part < kParts; ++part) {
        __m512i sum = _mm512_setzero_si512();
        for (int p = part * kPieces / kParts; p < (part + 1) * kPieces / kParts; ++p) {
          const __m512i codes = _mm512_sub_epi8(strip.u[h][p], zero);
          sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(-128), codes);
          _mm512_storeu_si512(panel.codes + ((run * kPieces + p) * kStripRows + h * kHalfRows) * 4, codes);
        }
        const int64_t at = (run * kParts + part) * kStripRows + h * kHalfRows;
        _mm512_storeu_si512(panel.start + at, _mm512_sub_epi32(_mm512_setzero_si512(), sum));
        _mm512_storeu_ps(panel.steps + at, strip.step[part][h]);
        if constexpr (Format::kZero == 0) _mm512_storeu_ps(panel.offsets + at, strip.offset[h]);
      }
    }
  }
}

}  // namespace

PARLANCE_AVX512 void gemv_strips_q4_k(const GemvArgs& args) {
  gemv_strips<Q4K>(args);
}
PARLANCE_AVX512 void gemv_strips_q6_k(const GemvArgs& args) {
  gemv_strips<Q6K>(args);
}
PARLANCE_AVX512 void unpack_strip_q4_k(const UnpackArgs& args) {
  unpack_strip<Q4K>(args);
}
PARLANCE_AVX512 void unpack_strip_q6_k(const UnpackArgs& args) {
  unpack_strip<Q6K>(args);
}

}  // namespace parlance::matmul::avx512

#endif
