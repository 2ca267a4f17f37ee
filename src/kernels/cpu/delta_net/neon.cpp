// The gated delta net's kernels for NEON.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "kernels/cpu/delta_net/kernels.h"
#include "kernels/cpu/simd/neon.h"

#if PARLANCE_NEON

namespace parlance::delta_net {

namespace {

#define PARLANCE_SIMD
using Lanes = simd::Neon;
#include "kernels/cpu/delta_net/vectors.simd.h"
//
#include "kernels/cpu/delta_net/channel_kernels.simd.h"
#include "kernels/cpu/delta_net/column_kernels.simd.h"
#include "kernels/cpu/delta_net/token_kernels.simd.h"

}  // namespace

const Kernels kNeon = {scale_to_length, dot,          advance_tokens, advance_columns,
                       to_columns,      from_columns, convolve};

}  // namespace parlance::delta_net

#endif
