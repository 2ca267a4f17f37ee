// Kernels of the operations on packed rows for AVX2.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/simd/avx2.h"
#include "quant/kv_blocks.h"
#include "verify/packed/kernels.h"

#if PARLANCE_X86

namespace parlance::verify::packed {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX2
using Lanes = simd::Avx2;
#include "verify/packed/blocks.simd.h"

}  // namespace

const Kernels kAvx2 = kernels_for(Isa::avx2);

}  // namespace parlance::verify::packed

#endif
