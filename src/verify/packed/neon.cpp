// Kernels of the operations on packed rows for NEON.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/simd/neon.h"
#include "quant/kv_blocks.h"
#include "verify/packed/kernels.h"

#if PARLANCE_NEON

namespace parlance::verify::packed {

namespace {

#define PARLANCE_SIMD
using Lanes = simd::Neon;
#include "verify/packed/blocks.simd.h"

}  // namespace

const Kernels kNeon = kernels_for(Isa::neon);

}  // namespace parlance::verify::packed

#endif
