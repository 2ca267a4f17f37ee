// Attention's block kernels for AVX2.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/simd/avx2.h"
#include "quant/q8_0.h"

#if PARLANCE_X86

namespace parlance::attention {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX2
using Lanes = simd::Avx2;
#include "kernels/cpu/attention/block_kernels.simd.h"

}  // namespace

const Kernels kAvx2 = kKernels;

}  // namespace parlance::attention

#endif
