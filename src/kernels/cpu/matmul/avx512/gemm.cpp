// gemm with AVX-512: a panel of 32 rows times a tile of up to 6 tokens, all sums in registers.
#include "kernels/cpu/matmul/avx512/quantised.h"

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

template <int kTokens, bool kHalfRuns, bool kHasOffset>
PARLANCE_AVX512 void multiply(const PanelArgs& args) {
  constexpr int kParts = kHalfRuns ? 2 : 1;
  constexpr int kPiecesPerPart = kPieces / kParts;
  const __mmask16 rows[kVectors] = {
      static_cast<__mmask16>(args.n_rows >= 16 ? 0xffff : (1 << args.n_rows) - 1),
      static_cast<__mmask16>(args.n_rows <= 16 ? 0 : (1ll << (args.n_rows - 16)) - 1)};
  __m512 sum[kTokens][kVectors];
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      sum[t][v] = args.start ? _mm512_maskz_loadu_ps(rows[v], args.start + t * args.start_stride + 16 * v)
                             : _mm512_setzero_ps();
    }
  }

  const auto* run = reinterpret_cast<const Run*>(args.x);
  const int8_t* codes = args.panel.codes;
  const float* steps = args.panel.steps;
  const float* offsets = args.panel.offsets;
  const int32_t* start = args.panel.start;
  for (int64_t i = 0; i < args.n_runs; ++i, ++run) {
    for (int part = 0; part < kParts; ++part) {
      __m512i dot[kTokens][kVectors];
      for (int v = 0; v < kVectors; ++v) {
        dot[0][v] = _mm512_loadu_si512(start + 16 * v);
        for (int t = 1; t < kTokens; ++t) dot[t][v] = dot[0][v];
      }
      for (int piece = part * kPiecesPerPart; piece < (part + 1) * kPiecesPerPart; ++piece) {
        const __m512i w0 = _mm512_loadu_si512(codes), w1 = _mm512_loadu_si512(codes + 64);
        codes += 4 * kPanelRows;
        for (int t = 0; t < kTokens; ++t) {
          const __m512i x = four_codes(*run, t, piece);
          dot[t][0] = _mm512_dpbusd_epi32(dot[t][0], x, w0);
          dot[t][1] = _mm512_dpbusd_epi32(dot[t][1], x, w1);
        }
      }
      for (int v = 0; v < kVectors; ++v) {
        const __m512 step = _mm512_loadu_ps(steps + 16 * v);
        for (int t = 0; t < kTokens; ++t) {
          const __m512 scale = _mm512_mul_ps(step, _mm512_set1_ps(run->steps[t]));
          sum[t][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[t][v]), scale, sum[t][v]);
        }
        if constexpr (kHasOffset) {
          const __m512 offset = _mm512_loadu_ps(offsets + 16 * v);
          const float* x_sums = kHalfRuns ? run->half_sums[part] : run->sums;
          for (int t = 0; t < kTokens; ++t) {
            sum[t][v] = _mm512_fmadd_ps(offset, _mm512_set1_ps(x_sums[t]), sum[t][v]);
          }
        }
      }
      steps += kPanelRows;
      offsets += kPanelRows;
      start += kPanelRows;
    }
  }

  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      _mm512_mask_storeu_ps(args.out + t * args.out_stride + 16 * v, rows[v], sum[t][v]);
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
