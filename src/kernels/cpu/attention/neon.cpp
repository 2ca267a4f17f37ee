// Attention's block kernels for NEON.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/kv_rows/kernels.h"
#include "kernels/cpu/simd/neon.h"
#include "quant/kv_blocks.h"

#if PARLANCE_NEON

namespace parlance::attention {

namespace {

#define PARLANCE_SIMD
using Lanes = simd::Neon;
#include "kernels/cpu/attention/every_format.simd.h"

}  // namespace

const Kernels kNeon = {
    .few = kFewRowsOfEach,
    .many = kWidenedOfEach,
    .softmax = softmax,
    .to_stored = kv_rows::to_stored_neon,
    .from_stored = kv_rows::from_stored_neon,
};

}  // namespace parlance::attention

#endif
