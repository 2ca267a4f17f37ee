// Kernels of matmul for AVX-512 with VNNI. A vector holds 64 codes, or 16 sums.
#pragma once

#include "kernels/cpu/isa.h"
#include "kernels/cpu/matmul/quantised.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::avx512 {

void quantise_row(const float* x, int64_t n_runs, const RowCodes& row);

// Rows of one type times up to kGemvTokens tokens, straight from the blocks.
inline constexpr int kGemvTokens = 24;
using Gemv = void(const GemvArgs& args);
Gemv gemv_q8_0, gemv_q4_0, gemv_q4_1, gemv_q5_0, gemv_q5_1, gemv_iq4_nl, gemv_q2_k, gemv_q3_k, gemv_q4_k,
    gemv_q5_k, gemv_q6_k, gemv_iq4_xs;

// Panels of signed codes, with the start of each integer sum that undoes the 128 added to the activations'
// codes.
inline constexpr int kPanelRows = 32;
using Unpack = void(const UnpackArgs& args);
Unpack unpack_q8_0, unpack_q4_0, unpack_q4_1, unpack_q5_0, unpack_q5_1, unpack_iq4_nl, unpack_q2_k,
    unpack_q3_k, unpack_q4_k, unpack_q5_k, unpack_q6_k, unpack_iq4_xs;

// Strips of packed weights: a panel is unpacked from one.
static_assert(kPanelRows == kStripRows);
Gemv gemv_strips_q8_0, gemv_strips_q4_0, gemv_strips_q4_k, gemv_strips_q6_k;
Unpack unpack_strip_q8_0, unpack_strip_q4_0, unpack_strip_q4_k, unpack_strip_q6_k;

inline constexpr int kTileTokens = 6;
using MultiplyPanel = void(const PanelArgs& args);
// By what steps (and offsets) belong to, and whether the format has offsets.
MultiplyPanel multiply_runs, multiply_runs_with_offset, multiply_half_runs, multiply_half_runs_with_offset;

QuantisedKernel quantised_kernel(DType dtype);

// What the sets with these kernels for few tokens have in common.
struct CommonSet {
  static constexpr bool kReadsPacked = true;
  static constexpr int kGemvTokens = avx512::kGemvTokens;
  static constexpr int kPanelRows = avx512::kPanelRows;

  static void quantise_row(const float* x, int64_t n_runs, const RowCodes& row) {
    avx512::quantise_row(x, n_runs, row);
  }
};

}  // namespace parlance::matmul::avx512

#endif
