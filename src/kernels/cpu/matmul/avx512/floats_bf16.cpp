// matmul with float weights on AVX-512 with BF16: bf16 weights meet activations rounded to bf16 when there
// are many tokens; all else is as on AVX-512.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/cpu/matmul/floats.h"
#include "kernels/cpu/simd/avx512.h"

#ifdef PARLANCE_X86

namespace parlance::matmul {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512_BF16
using Lanes = simd::Avx512;
#include "kernels/cpu/matmul/float_kernels.simd.h"

// Pairs of bf16 lie in float registers, one pair in each lane.
struct PairProduct {
  PARLANCE_AVX512_BF16 static PARLANCE_INLINE F multiply_add(F w, F x, F sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)w, (__m512bh)x);
  }
};

PARLANCE_AVX512_BF16 void unpack_pairs(const FloatUnpackArgs& args) {
  unpack<F32Values>({args.rows, args.n_values / 2, args.panel});
  if (args.n_values % 2 == 0) return;
  float* last = args.panel + args.n_values / 2 * kPanelRows;
  for (int r = 0; r < kPanelRows; ++r) {  // the partner of an odd last value is zero
    std::memset(last + r, 0, sizeof(float));
    std::memcpy(last + r, args.rows[r] + 2 * (args.n_values - 1), sizeof(bf16_bits));
  }
}

PARLANCE_AVX512_BF16 void round_to_bf16(const float* x, int64_t n, uint16_t* out) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(x + i));
    std::memcpy(out + i, &rounded, sizeof(rounded));
  }
  for (; i < n; ++i) out[i] = bf16_from_f32(x[i]);
}

}  // namespace

const FloatKernels kFloatsAvx512Bf16 = {
    .panel_rows = kPanelRows,
    .tile_tokens = kTileTokens,
    .f32 = {gemv<F32Values>, unpack<F32Values>, multiply_panel<FloatProduct>, false},
    .f16 = {gemv<F16Values>, unpack<F16Values>, multiply_panel<FloatProduct>, false},
    .bf16 = {gemv<Bf16Values>, unpack_pairs, multiply_panel<PairProduct>, true},
    .round_to_bf16 = round_to_bf16,
};

}  // namespace parlance::matmul

#endif
