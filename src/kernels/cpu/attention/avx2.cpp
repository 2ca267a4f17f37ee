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
#include "kernels/cpu/attention/rows.simd.h"

#include "kernels/cpu/attention/few_rows.simd.h"
#include "kernels/cpu/attention/many_rows.simd.h"
#include "kernels/cpu/attention/softmax.simd.h"

}  // namespace

// In the order of KvFormat.
const Kernels kAvx2 = {
    .few = {kFewRows<F32Rows>, kFewRows<F16Rows>, kFewRows<Bf16Rows>, kFewRows<Q8Rows>},
    .many = {kWidened<F32Rows>, kWidened<F16Rows>, kWidened<Bf16Rows>, kWidened<Q8Rows>},
    .softmax = softmax,
    .to_stored = to_stored,
    .from_stored = from_stored,
};

}  // namespace parlance::attention

#endif
