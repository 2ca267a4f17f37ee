// Attention's block kernels for AVX-512.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/simd/avx512.h"
#include "quant/q8_0.h"

#if PARLANCE_X86

namespace parlance::attention {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = simd::Avx512;
#include "kernels/cpu/attention/block_kernels.simd.h"

}  // namespace

const Kernels kAvx512 = kKernels;

}  // namespace parlance::attention

#endif
