// Kernels of the operations on packed rows for AVX-512.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/simd/avx512.h"
#include "quant/kv_blocks.h"
#include "verify/packed/kernels.h"

#if PARLANCE_X86

namespace parlance::verify::packed {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = simd::Avx512;
#include "verify/packed/blocks.simd.h"

}  // namespace

const Kernels kAvx512 = kernels_for(Isa::avx512);

}  // namespace parlance::verify::packed

#endif
