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
#include "quant/codebook.h"
#include "quant/q4_0.h"
#include "quant/q4_polar.h"
#include "quant/q8_0.h"
#include "quant/qjl1_256.h"
#include "quant/signs.h"
#include "quant/tbq.h"
#include "quant/tbq3_tcq.h"

#if PARLANCE_NEON

namespace parlance::attention {

namespace {

#define PARLANCE_SIMD
using Lanes = simd::Neon;
#include "kernels/cpu/attention/rows.simd.h"

#include "kernels/cpu/attention/compressed_rows.simd.h"
#include "kernels/cpu/attention/few_rows.simd.h"
#include "kernels/cpu/attention/many_rows.simd.h"
#include "kernels/cpu/attention/softmax.simd.h"

}  // namespace

// In the order of KvFormat.
const Kernels kNeon = {
    .few = {kFewRows<F32Rows>, kFewRows<F16Rows>, kFewRows<Bf16Rows>, kFewRows<Q8Rows>, kFewRows<Q4Rows>,
            kFewRows<Tbq3Rows>, kFewRows<Tbq4Rows>, kFewRows<TcqRows>, kFewRows<QjlRows>,
            kFewRows<PolarRows<false>>, kFewRows<PolarRows<true>>},
    .many = {kWidened<F32Rows>, kWidened<F16Rows>, kWidened<Bf16Rows>, kWidened<Q8Rows>, kWidened<Q4Rows>,
             kWidened<Tbq3Rows>, kWidened<Tbq4Rows>, kWidened<TcqRows>, kWidened<QjlRows>,
             kWidened<PolarRows<false>>, kWidened<PolarRows<true>>},
    .softmax = softmax,
    .to_stored = kv_rows::to_stored_neon,
    .from_stored = kv_rows::from_stored_neon,
};

}  // namespace parlance::attention

#endif
