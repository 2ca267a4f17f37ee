// gemm with AVX-512: a panel of 32 rows times a tile of up to 6 tokens, all sums in registers.
#include <bit>

#include "kernels/cpu/matmul/avx512/quantised.h"
#include "kernels/cpu/matmul/order_of_sums.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

namespace {

#define INLINE_AVX512 PARLANCE_AVX512 PARLANCE_INLINE

constexpr int kVectors = 2;  // of 16 rows
constexpr int kPieces = 8;   // of four codes in a run

using Run = RunActivations<kTileTokens>;

INLINE_AVX512 __m512i four_codes(const Run& run, int token, int piece) {
  int32_t codes;
  std::memcpy(&codes, &run.codes[token][4 * piece], sizeof(codes));
  return _mm512_set1_epi32(codes);
}

template <int kTokens>
using Sums = __m512[kTokens][kVectors];

template <int kTokens>
INLINE_AVX512 void clear(Sums<kTokens>& sums) {
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) sums[t][v] = _mm512_setzero_ps();
  }
}

// sum += steps * codes * x + offsets * x for part `index`, a run or half of one.
template <int kTokens, bool kHalfRuns, bool kHasOffset>
INLINE_AVX512 void add_part(const PanelArgs& args, int64_t index, Sums<kTokens>& sum) {
  constexpr int kParts = kHalfRuns ? 2 : 1;
  constexpr int kPiecesPerPart = kPieces / kParts;
  const Run& run = reinterpret_cast<const Run*>(args.x)[index / kParts];
  const int part = static_cast<int>(index % kParts);
  const int8_t* codes = args.panel.codes + index * kPiecesPerPart * 4 * kPanelRows;
  const float* steps = args.panel.steps + index * kPanelRows;
  const float* offsets = args.panel.offsets + index * kPanelRows;
  const int32_t* start = args.panel.start + index * kPanelRows;
  __m512i dot[kTokens][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    dot[0][v] = _mm512_loadu_si512(start + 16 * v);
    for (int t = 1; t < kTokens; ++t) dot[t][v] = dot[0][v];
  }
  for (int piece = 0; piece < kPiecesPerPart; ++piece) {
    const __m512i w0 = _mm512_loadu_si512(codes), w1 = _mm512_loadu_si512(codes + 64);
    codes += 4 * kPanelRows;
    for (int t = 0; t < kTokens; ++t) {
      const __m512i x = four_codes(run, t, part * kPiecesPerPart + piece);
      dot[t][0] = _mm512_dpbusd_epi32(dot[t][0], x, w0);
      dot[t][1] = _mm512_dpbusd_epi32(dot[t][1], x, w1);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (kHasOffset) {
      const __m512 offset = _mm512_loadu_ps(offsets + 16 * v);
      const float* x_sums = kHalfRuns ? run.half_sums[part] : run.sums;
      for (int t = 0; t < kTokens; ++t) {
        sum[t][v] = _mm512_fmadd_ps(offset, _mm512_set1_ps(x_sums[t]), sum[t][v]);
      }
    }
    const __m512 step = _mm512_loadu_ps(steps + 16 * v);
    for (int t = 0; t < kTokens; ++t) {
      const __m512 scale = _mm512_mul_ps(step, _mm512_set1_ps(run.steps[t]));
      sum[t][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[t][v]), scale, sum[t][v]);
    }
  }
}

// A segment of the rows; see order_of_sums.h.
template <int kTokens, bool kHalfRuns, bool kHasOffset>
PARLANCE_AVX512 void multiply(const PanelArgs& args) {
  const int64_t n_parts = args.n_runs * (kHalfRuns ? 2 : 1);
  constexpr int kChains = kHalfRuns ? kHalfRunChains : kRunChains;
  constexpr int kLevels = std::countr_zero(unsigned{kChains});
  alignas(64) float waiting[kLevels][kTokens][kVectors][16];
  Sums<kTokens> sum;
  const std::byte* ahead = args.ahead;
  const int64_t ahead_bytes = args.ahead_bytes / (kHalfRuns ? 2 : 1);
  for (int i = 0; i < kChains; ++i) {
    clear<kTokens>(sum);
    for (int64_t part = chain_number<kChains>(i); part < n_parts; part += kChains) {
      for (int64_t byte = 0; byte < ahead_bytes; byte += 64) {
        _mm_prefetch(reinterpret_cast<const char*>(ahead + byte), _MM_HINT_T1);
      }
      ahead += ahead_bytes;
      add_part<kTokens, kHalfRuns, kHasOffset>(args, part, sum);
    }
    int level = 0;
    for (; i >> level & 1; ++level) {
      for (int t = 0; t < kTokens; ++t) {
        for (int v = 0; v < kVectors; ++v) {
          sum[t][v] = _mm512_add_ps(sum[t][v], _mm512_load_ps(waiting[level][t][v]));
        }
      }
    }
    if (level == kLevels) break;
    for (int t = 0; t < kTokens; ++t) {
      for (int v = 0; v < kVectors; ++v) _mm512_store_ps(waiting[level][t][v], sum[t][v]);
    }
  }

  const __mmask16 rows[kVectors] = {
      static_cast<__mmask16>(args.n_rows >= 16 ? 0xffff : (1 << args.n_rows) - 1),
      static_cast<__mmask16>(args.n_rows <= 16 ? 0 : (1ll << (args.n_rows - 16)) - 1)};
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      const __m512 start = args.start
                               ? _mm512_maskz_loadu_ps(rows[v], args.start + t * args.start_stride + 16 * v)
                               : _mm512_setzero_ps();
      _mm512_mask_storeu_ps(args.out + t * args.out_stride + 16 * v, rows[v],
                            _mm512_add_ps(start, sum[t][v]));
    }
  }
}

template <bool kHalfRuns, bool kHasOffset>
void multiply_tokens(const PanelArgs& args) {
  static_assert(kTileTokens == 6);
  switch (args.n_tokens) {
    case 1:
      return multiply<1, kHalfRuns, kHasOffset>(args);
    case 2:
      return multiply<2, kHalfRuns, kHasOffset>(args);
    case 3:
      return multiply<3, kHalfRuns, kHasOffset>(args);
    case 4:
      return multiply<4, kHalfRuns, kHasOffset>(args);
    case 5:
      return multiply<5, kHalfRuns, kHasOffset>(args);
    default:
      return multiply<6, kHalfRuns, kHasOffset>(args);
  }
}

}  // namespace

void multiply_runs(const PanelArgs& args) {
  multiply_tokens<false, false>(args);
}
void multiply_runs_with_offset(const PanelArgs& args) {
  multiply_tokens<false, true>(args);
}
void multiply_half_runs(const PanelArgs& args) {
  multiply_tokens<true, false>(args);
}
void multiply_half_runs_with_offset(const PanelArgs& args) {
  multiply_tokens<true, true>(args);
}

}  // namespace parlance::matmul::avx512

#endif
