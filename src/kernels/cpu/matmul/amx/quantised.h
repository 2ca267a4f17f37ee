// Kernels of matmul for AMX: a tile instruction multiplies 16 tokens with 16 rows, 32 codes each, into
// integers, which are scaled and summed up as the vectors of AVX-512 do. All else is AVX-512's, and so are
// the bits.
#pragma once

#include "kernels/cpu/matmul/avx512/quantised.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::amx {

inline constexpr int kTileTokens = 32;

// By what steps (and offsets) belong to, and whether the format has offsets; of panels with signed codes, and
// activations with signed codes.
using MultiplyPanel = void(const PanelArgs& args);
MultiplyPanel multiply_runs, multiply_runs_with_offset, multiply_half_runs, multiply_half_runs_with_offset;

// Strips of q8_0 have codes as tiles want them: only steps are unpacked.
avx512::Unpack unpack_strip_steps_q8_0;
MultiplyPanel multiply_strip_q8_0;

// The shapes of tiles, which take as long to say as many products: before and after panels are multiplied.
void configure_for_runs();
void configure_for_half_runs();
void release();

}  // namespace parlance::matmul::amx

#endif
