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
#include "kernels/cpu/attention/rows.simd.h"

#include "kernels/cpu/attention/few_rows.simd.h"
#include "kernels/cpu/attention/many_rows.simd.h"
#include "kernels/cpu/attention/softmax.simd.h"

}  // namespace

// In the order of KvFormat.
const Kernels kNeon = {
    .few = {kFewRows<F32Rows>, kFewRows<F16Rows>, kFewRows<Bf16Rows>, kFewRows<Q8Rows>},
    .many = {kWidened<F32Rows>, kWidened<F16Rows>, kWidened<Bf16Rows>, kWidened<Q8Rows>},
    .softmax = softmax,
    .to_stored = to_stored,
    .from_stored = from_stored,
};

}  // namespace parlance::attention

#endif
