// matmul with quantised weights on NEON with I8MM: few tokens as with DotProd, tiles of many with products of
// two tokens and two rows, eight codes of each, in one instruction.
#include "kernels/cpu/matmul/cells.h"
#include "kernels/cpu/matmul/quantised.h"
#include "kernels/cpu/matmul/step_codes.h"
#include "kernels/cpu/simd/neon.h"
#include "quant/iq4_nl.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q8_0.h"

#ifdef PARLANCE_NEON

namespace parlance::matmul {

namespace {

#define PARLANCE_SIMD PARLANCE_NEON_I8MM

PARLANCE_SIMD PARLANCE_INLINE int32x4_t sum_products(int32x4_t sum, int8x16_t a, int8x16_t b) {
  return vdotq_s32(sum, a, b);
}

#include "kernels/cpu/matmul/neon/vectors.simd.h"

// The token that is multiplied together with token t of a tile: an odd last one is its own partner.
template <int kTokens>
constexpr int partner_of(int t) {
  return t + 1 < kTokens ? t + 1 : t;
}

struct V : NeonVectors {
  // Eight bytes of each of rows 0 and 1 to out, of rows 2 and 3 to out + stride; the next eight to
  // out + 2 * stride, …
  PARLANCE_SIMD static PARLANCE_INLINE void interleave(const Codes (&rows)[kRowGroup], int8_t* out,
                                                       int stride) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 2
      for (int pair = 0; pair < 2; ++pair) {
        const int8x16_t a = rows[2 * pair].val[half], b = rows[2 * pair + 1].val[half];
        vst1q_s8(out + (4 * half + pair) * stride, vcombine_s8(vget_low_s8(a), vget_low_s8(b)));
        vst1q_s8(out + (4 * half + 2 + pair) * stride, vcombine_s8(vget_high_s8(a), vget_high_s8(b)));
      }
    }
  }

  template <class Format, int kTokens, int kVectors, int kPieces, int kTile>
  PARLANCE_SIMD static PARLANCE_INLINE void multiply_part(const int8_t* codes, const RunActivations<kTile>& x,
                                                          int part, Sums (&dots)[kTokens][kVectors]) {
    constexpr int kTokenPairs = (kTokens + 1) / 2;
    Sums squares[kTokenPairs][kVectors][2];  // of two tokens and two rows: token by token
#pragma GCC unroll 2
    for (int t = 0; t < kTokenPairs; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) squares[t][v][0] = squares[t][v][1] = vdupq_n_s32(0);
    }
#pragma GCC unroll 4
    for (int piece = 0; piece < kPieces / 2; ++piece) {
      int8x16_t w[kVectors][2];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        w[v][0] = vld1q_s8(codes + (2 * piece * kVectors + v) * 16);
        w[v][1] = vld1q_s8(codes + ((2 * piece + 1) * kVectors + v) * 16);
      }
#pragma GCC unroll 2
      for (int t = 0; t < kTokenPairs; ++t) {
        const int at = 4 * part * kPieces + 8 * piece;
        const int8x16_t xt =
            vcombine_s8(vld1_s8(&x.codes[2 * t][at]), vld1_s8(&x.codes[partner_of<kTokens>(2 * t)][at]));
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          squares[t][v][0] = vmmlaq_s32(squares[t][v][0], xt, w[v][0]);
          squares[t][v][1] = vmmlaq_s32(squares[t][v][1], xt, w[v][1]);
        }
      }
    }
#pragma GCC unroll 2
    for (int t = 0; t < kTokenPairs; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        const Sums a = squares[t][v][0], b = squares[t][v][1];
        dots[2 * t][v] = vcombine_s32(vget_low_s32(a), vget_low_s32(b));
        dots[partner_of<kTokens>(2 * t)][v] = vcombine_s32(vget_high_s32(a), vget_high_s32(b));
      }
    }
  }
};

#include "kernels/cpu/matmul/quantised_kernels.simd.h"

}  // namespace

Cell<MatmulArgs> quantised_neon_i8mm() {
  return QuantisedMatmul<Set>::cell();
}

}  // namespace parlance::matmul

#endif
