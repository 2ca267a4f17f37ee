// matmul with float weights on NEON.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/matmul/floats.h"
#include "kernels/cpu/matmul/order_of_sums.h"
#include "kernels/cpu/simd/neon.h"

#ifdef PARLANCE_NEON

namespace parlance::matmul {

namespace {

#define PARLANCE_SIMD
using Lanes = simd::Neon;
#include "kernels/cpu/matmul/float_kernels.simd.h"

}  // namespace

const FloatKernels kFloatsNeon = {
    .panel_rows = kPanelRows,
    .tile_tokens = kTileTokens,
    .f32 = kF32Steps<F32Values>,
    .f16 = kF32Steps<F16Values>,
    .bf16 = kF32Steps<Bf16Values>,
};

}  // namespace parlance::matmul

#endif
