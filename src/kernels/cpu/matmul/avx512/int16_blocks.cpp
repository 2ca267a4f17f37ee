#include "kernels/cpu/matmul/avx512/int16_blocks.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/matmul/order_of_sums.h"
#include "kernels/cpu/simd/avx512.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = simd::Avx512;
#include "kernels/cpu/matmul/float_kernels.simd.h"

using I = __m512i;
using Ints = __v16si;  // sums stay in registers only where their type does not change

constexpr auto kLayout = kStepLayouts[static_cast<size_t>(StepKind::int16_blocks)];
constexpr int64_t kBlock = kLayout.values_per_block;
constexpr int64_t kPairs = kBlock / 2;
static_assert(kLayout.steps_per_block == kPairs + 1);

constexpr float kMostLength = 46330;  // rounding adds half for each value: at most sqrt(64) / 2 to the length
constexpr float kLargest = 32767;
static_assert(int64_t{46330 + 5} * (46330 + 5) < int64_t{1} << 31);
constexpr float kLeast = 1e-30f;  // largest values count as no less: a zero has none to divide by

// A block of kWidth rows; lane r of vector i is value i of row r, those past n are zero.
template <class Values>
PARLANCE_SIMD PARLANCE_INLINE void load_block(const std::byte* const (&rows)[kWidth], int64_t first,
                                              int64_t n, F (&x)[kBlock]) {
  for (int64_t i = 0; i < kBlock; i += kWidth) {
    F square[kWidth];
    if (i < n) {
#pragma GCC unroll 16
      for (int r = 0; r < kWidth; ++r) {
        square[r] = load_values<Values>(rows[r] + (first + i) * Values::kBytes, n - i);
      }
      Lanes::transpose(square);
    } else {
      std::fill_n(square, kWidth, Lanes::zero());
    }
#pragma GCC unroll 16
    for (int k = 0; k < kWidth; ++k) x[i + k] = square[k];
  }
}

// What one unit of each row's integers stands for. NaN and infinity in a row make it NaN.
PARLANCE_SIMD PARLANCE_INLINE F unit_of(const F (&x)[kBlock]) {
  F largest = Lanes::broadcast(kLeast);
#pragma GCC unroll 4
  for (int64_t i = 0; i < kBlock; ++i) largest = Lanes::maximum(largest, _mm512_abs_ps(x[i]));
  // The length is that of the values divided by the largest, whose squares cannot overflow.
  const F inverse = Lanes::divide(Lanes::broadcast(1), largest);
  F squares[4] = {Lanes::zero(), Lanes::zero(), Lanes::zero(), Lanes::zero()};
  for (int64_t i = 0; i < kBlock; i += 4) {
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s) {
      const F relative = Lanes::multiply(x[i + s], inverse);
      squares[s] = Lanes::multiply_add(relative, relative, squares[s]);
    }
  }
  const F length =
      _mm512_sqrt_ps(Lanes::add(Lanes::add(squares[0], squares[1]), Lanes::add(squares[2], squares[3])));
  // The operand that may be NaN comes second: the instruction returns it then.
  return Lanes::multiply(largest, Lanes::maximum(Lanes::broadcast(1 / kLargest),
                                                 Lanes::multiply(length, Lanes::broadcast(1 / kMostLength))));
}

// kRows rows in blocks.
template <class Values, int kRows>
PARLANCE_SIMD void pack_blocks(const FloatPackArgs& args) {
  for (int first_row = 0; first_row < kRows; first_row += kWidth) {
    const int n_rows = std::min(kWidth, kRows - first_row);
    const std::byte* rows[kWidth];
    for (int r = 0; r < kWidth; ++r) rows[r] = args.rows[first_row + std::min(r, n_rows - 1)];
    float* steps = args.steps + first_row;
    for (int64_t first = 0; first < args.n_values; first += kBlock) {
      F x[kBlock];
      load_block<Values>(rows, first, args.n_values - first, x);
      const F unit = unit_of(x);
      const F to_units = Lanes::divide(Lanes::broadcast(1), unit);
#pragma GCC unroll 4
      for (int64_t i = 0; i < kBlock; i += 2, steps += kRows) {
        const I even = _mm512_cvtps_epi32(Lanes::multiply(x[i], to_units));
        const I odd = _mm512_cvtps_epi32(Lanes::multiply(x[i + 1], to_units));
        const I pair = _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16));
        store_rows(steps, _mm512_castsi512_ps(pair), n_rows);
      }
      store_rows(steps, unit, n_rows);
      steps += kRows;
    }
  }
}

// Sums of kTokens tokens; of these, the first args.n_tokens exist.
template <int kTokens>
PARLANCE_SIMD void multiply_blocks(const FloatPanelArgs& args) {
  F sums[kTokens][kVectors];
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      sums[t][v] = args.start && t < args.n_tokens
                       ? load_rows(args.start + t * args.start_stride + v * kWidth, args.n_rows - v * kWidth)
                       : Lanes::zero();
    }
  }
  const float* panel = args.panel;
  const float* x = args.x;
  for (int64_t step = 0; step < args.n_steps; step += kPairs + 1) {
    Ints dots[kTokens][kVectors];
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) dots[t][v] = Ints{};
    }
    for (int64_t pair = 0; pair < kPairs; ++pair, panel += kPanelRows, x += kTileTokens) {
      I w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) w[v] = _mm512_loadu_si512(panel + v * kWidth);
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        const I xt = _mm512_castps_si512(Lanes::broadcast(x[t]));
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) dots[t][v] = (Ints)_mm512_dpwssd_epi32((I)dots[t][v], w[v], xt);
      }
    }
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const F w_unit = Lanes::load(panel + v * kWidth);
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        const F unit = Lanes::multiply(w_unit, Lanes::broadcast(x[t]));
        sums[t][v] = Lanes::multiply_add(_mm512_cvtepi32_ps((I)dots[t][v]), unit, sums[t][v]);
      }
    }
    panel += kPanelRows;
    x += kTileTokens;
  }
  for (int t = 0; t < std::min(kTokens, args.n_tokens); ++t) {
    for (int v = 0; v < kVectors; ++v) {
      store_rows(args.out + t * args.out_stride + v * kWidth, sums[t][v], args.n_rows - v * kWidth);
    }
  }
}

}  // namespace

void pack_f16_weights(const FloatPackArgs& args) {
  pack_blocks<F16Values, kPanelRows>(args);
}

void pack_int16_tokens(const FloatPackArgs& args) {
  pack_blocks<F32Values, kTileTokens>(args);
}

void multiply_int16_blocks(const FloatPanelArgs& args) {
  switch (div_up(args.n_tokens, 2)) {
    case 1:
      return multiply_blocks<2>(args);
    case 2:
      return multiply_blocks<4>(args);
    case 3:
      return multiply_blocks<6>(args);
    case 4:
      return multiply_blocks<8>(args);
    case 5:
      return multiply_blocks<10>(args);
    default:
      return multiply_blocks<kTileTokens>(args);
  }
}

}  // namespace parlance::matmul::avx512

#endif
