// matmul with float weights on AVX2.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/matmul/floats.h"
#include "kernels/cpu/matmul/order_of_sums.h"
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
    .f32 = kF32Steps<F32Values>,
    .f16 = kF32Steps<F16Values>,
    .bf16 = kF32Steps<Bf16Values>,
};

}  // namespace parlance::matmul

#endif
