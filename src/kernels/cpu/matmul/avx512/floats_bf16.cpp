// matmul with float weights on AVX-512 with BF16: bf16 weights meet activations rounded to bf16; all else is
// as on AVX-512.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/cpu/matmul/avx512/int16_blocks.h"
#include "kernels/cpu/matmul/floats.h"
#include "kernels/cpu/matmul/order_of_sums.h"
#include "kernels/cpu/simd/avx512.h"

#ifdef PARLANCE_X86

namespace parlance::matmul {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512_BF16
using Lanes = simd::Avx512;
#include "kernels/cpu/matmul/float_kernels.simd.h"

// Pairs of bf16 lie in float registers, one pair in each lane.
struct PairProduct {
  static constexpr int kStepValues = 2;
  PARLANCE_AVX512_BF16 static PARLANCE_INLINE F multiply_add(F w, F x, F sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)w, (__m512bh)x);
  }
};

PARLANCE_AVX512_BF16 void pack_weights(const FloatPackArgs& args) {
  const int64_t n_pairs = args.n_values / 2;
  const ChainStarts<kPanelRows> chains(args.steps, div_up<int64_t>(args.n_values, 2));
  pack<F32Values, kPanelRows>({args.rows, n_pairs, args.steps}, chains);
  if (args.n_values % 2 == 0) return;
  float* last = chains.step(n_pairs);
  for (int r = 0; r < kPanelRows; ++r) {  // the partner of an odd last value is zero
    std::memset(last + r, 0, sizeof(float));
    std::memcpy(last + r, args.rows[r] + 2 * (args.n_values - 1), sizeof(bf16_bits));
  }
}

// Zeros fill up the last vector.
PARLANCE_AVX512_BF16 void round_to_bf16(const std::byte* x, int64_t n, bf16_bits* out) {
  for (int64_t i = 0; i < n; i += kWidth) {
    const __m256bh rounded = _mm512_cvtneps_pbh(load_values<F32Values>(x + i * F32Values::kBytes, n - i));
    std::memcpy(out + i, &rounded, sizeof(rounded));
  }
}

PARLANCE_AVX512_BF16 void pack_tokens(const FloatPackArgs& args) {
  constexpr int64_t kPiece = 256;
  const ChainStarts<kTileTokens> chains(args.steps, div_up<int64_t>(args.n_values, 2));
  bf16_bits rounded[kTileTokens][kPiece];
  const std::byte* rows[kTileTokens];
  for (int t = 0; t < kTileTokens; ++t) rows[t] = reinterpret_cast<const std::byte*>(rounded[t]);
  for (int64_t first = 0; first < args.n_values; first += kPiece) {
    const int64_t n = std::min(kPiece, args.n_values - first);
    for (int t = 0; t < kTileTokens; ++t) {
      round_to_bf16(args.rows[t] + first * F32Values::kBytes, n, rounded[t]);
    }
    pack<F32Values, kTileTokens>({rows, div_up<int64_t>(n, 2), args.steps}, chains, first / 2);
  }
}

// The pairs of a row, as many as there are.
PARLANCE_AVX512_BF16 void round_row(const float* x, int64_t n, float* pairs) {
  const int64_t whole = n / kWidth * kWidth;
  auto* out = reinterpret_cast<bf16_bits*>(pairs);
  round_to_bf16(bytes_of(x), whole, out);
  bf16_bits rest[kWidth];
  round_to_bf16(bytes_of(x + whole), n - whole, rest);
  std::memcpy(out + whole, rest, static_cast<size_t>(align_up<int64_t>(n - whole, 2)) * sizeof(bf16_bits));
}

constexpr FloatKernel kPairs = {
    gemv_steps<F32Values, PairProduct>, round_row, StepKind::bf16_pairs, pack_weights, pack_tokens,
    multiply_panel<PairProduct>};

}  // namespace

const FloatKernels kFloatsAvx512Bf16 = {
    .panel_rows = kPanelRows,
    .tile_tokens = kTileTokens,
    .f32 = kF32Steps<F32Values>,
    .f16 = {gemv_steps<F16Values, FloatProduct>, nullptr, StepKind::int16_blocks, avx512::pack_f16_weights,
            avx512::pack_int16_tokens, avx512::multiply_int16_blocks},
    .bf16 = kPairs,
};

const FloatKernels kDeterministicFloatsAvx512Bf16 = {
    .panel_rows = kPanelRows,
    .tile_tokens = kTileTokens,
    .f32 = kF32Steps<F32Values>,
    .f16 = kF32Steps<F16Values>,
    .bf16 = kPairs,
};

}  // namespace parlance::matmul

#endif
