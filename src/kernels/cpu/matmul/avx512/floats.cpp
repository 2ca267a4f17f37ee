// matmul with float weights on AVX-512.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/matmul/avx512/int16_blocks.h"
#include "kernels/cpu/matmul/floats.h"
#include "kernels/cpu/matmul/order_of_sums.h"
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
    .f32 = kF32Steps<F32Values>,
    .f16 = {gemv_steps<F16Values, FloatProduct>, nullptr, StepKind::int16_blocks, avx512::pack_f16_weights,
            avx512::pack_int16_tokens, avx512::multiply_int16_blocks},
    .bf16 = kF32Steps<Bf16Values>,
};

const FloatKernels kDeterministicFloatsAvx512 = {
    .panel_rows = kPanelRows,
    .tile_tokens = kTileTokens,
    .f32 = kF32Steps<F32Values>,
    .f16 = kF32Steps<F16Values>,
    .bf16 = kF32Steps<Bf16Values>,
};

}  // namespace parlance::matmul

#endif
