// Attention's block kernels for NEON.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/simd/neon.h"
#include "quant/q8_0.h"

#if PARLANCE_NEON

namespace parlance::attention {

namespace {

#define PARLANCE_SIMD
using Lanes = simd::Neon;
#include "kernels/cpu/attention/block_kernels.simd.h"

}  // namespace

const Kernels kNeon = kKernels;

}  // namespace parlance::attention

#endif
