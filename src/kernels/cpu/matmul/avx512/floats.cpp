// matmul with float weights on AVX-512.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/matmul/floats.h"
#include "kernels/cpu/simd/avx512.h"

#ifdef PARLANCE_X86

namespace parlance::matmul {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = simd::Avx512;
#include "kernels/cpu/matmul/float_kernels.simd.h"

}  // namespace

const FloatKernels kFloatsAvx512 = {
    .panel_rows = kPanelRows,
    .tile_tokens = kTileTokens,
    .f32 = {gemv<F32Values>, unpack<F32Values>, multiply_panel<FloatProduct>, false},
    .f16 = {gemv<F16Values>, unpack<F16Values>, multiply_panel<FloatProduct>, false},
    .bf16 = {gemv<Bf16Values>, unpack<Bf16Values>, multiply_panel<FloatProduct>, false},
    .round_to_bf16 = nullptr,
};

}  // namespace parlance::matmul

#endif
