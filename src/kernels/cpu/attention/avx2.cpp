// Attention's block kernels for AVX2.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/kv_rows/kernels.h"
#include "kernels/cpu/simd/avx2.h"
#include "quant/kv_blocks.h"

#if PARLANCE_X86

namespace parlance::attention {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX2
using Lanes = simd::Avx2;
#include "kernels/cpu/attention/every_format.simd.h"

}  // namespace

const Kernels kAvx2 = {
    .few = kFewRowsOfEach,
    .many = kWidenedOfEach,
    .softmax = softmax,
    .to_stored = kv_rows::to_stored_avx2,
    .from_stored = kv_rows::from_stored_avx2,
};

}  // namespace parlance::attention

#endif
