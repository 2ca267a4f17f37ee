// matmul with float weights on AVX2.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/matmul/floats.h"
#include "kernels/cpu/simd/avx2.h"

#ifdef PARLANCE_X86

namespace parlance::matmul {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX2
using Lanes = simd::Avx2;
#include "kernels/cpu/matmul/float_kernels.simd.h"

}  // namespace

const FloatKernels kFloatsAvx2 = {
    .panel_rows = kPanelRows,
    .tile_tokens = kTileTokens,
    .f32 = {gemv<F32Values>, unpack<F32Values>, multiply_panel<FloatProduct>, false},
    .f16 = {gemv<F16Values>, unpack<F16Values>, multiply_panel<FloatProduct>, false},
    .bf16 = {gemv<Bf16Values>, unpack<Bf16Values>, multiply_panel<FloatProduct>, false},
    .round_to_bf16 = nullptr,
};

}  // namespace parlance::matmul

#endif
