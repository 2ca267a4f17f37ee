// gemm with f16 weights in pairs of 16-bit integers, which AVX-512 multiplies and sums up without rounding at
// twice the speed of f32.
//
// Blocks of 64 values of a row, of weights and of activations alike, become integers and an f32 that one unit
// of them stands for. Units are as small as they may be: no integer needs more than 16 bits, and the integers
// of a block, as a vector, are no longer than kMostLength, so that no sum of 32 bits overflows (Cauchy and
// Schwarz). Integers are off by half at most. Where they are so independently, a product of two blocks is off
// by about |w| |x| / (kMostLength sqrt(6)) = 9e-6 |w| |x|, half of what rounding activations to f16 costs;
// where all values of a block are equal, by up to 1.7e-4 |w| |x|.
#pragma once

#include "kernels/cpu/matmul/floats.h"

namespace parlance::matmul::avx512 {

// Steps of a block: 32 of two integers for each row, then one of the units.
void pack_f16_weights(const FloatPackArgs& args);
void pack_int16_tokens(const FloatPackArgs& args);
void multiply_int16_blocks(const FloatPanelArgs& args);

}  // namespace parlance::matmul::avx512
