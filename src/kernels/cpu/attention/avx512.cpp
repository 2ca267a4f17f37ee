// Attention's block kernels for AVX-512.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/simd/avx512.h"
#include "quant/codebook.h"
#include "quant/q4_0.h"
#include "quant/q4_polar.h"
#include "quant/q8_0.h"
#include "quant/qjl1_256.h"
#include "quant/signs.h"
#include "quant/tbq.h"
#include "quant/tbq3_tcq.h"

#if PARLANCE_X86

namespace parlance::attention {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = simd::Avx512;
#include "kernels/cpu/attention/rows.simd.h"

#include "kernels/cpu/attention/compressed_rows.simd.h"
#include "kernels/cpu/attention/few_rows.simd.h"
#include "kernels/cpu/attention/int16_rows.avx512.h"
#include "kernels/cpu/attention/many_rows.simd.h"
#include "kernels/cpu/attention/softmax.simd.h"

}  // namespace

// In the order of KvFormat.
const Kernels kAvx512 = {
    .few = {kFewRows<F32Rows>, kFewRows<F16Rows>, kFewRows<Bf16Rows>, kFewRows<Q8Rows>, kFewRows<Q4Rows>,
            kFewRows<Tbq3Rows>, kFewRows<Tbq4Rows>, kFewRows<TcqRows>, kFewRows<QjlRows>,
            kFewRows<PolarRows<false>>, kFewRows<PolarRows<true>>},
    .many = {kWidened<F32Rows>, kInt16Rows<F16Rows>, kInt16Rows<Bf16Rows>, kInt16Rows<Q8Rows>,
             kInt16Rows<Q4Rows>, kInt16Rows<Tbq3Rows>, kInt16Rows<Tbq4Rows>, kInt16Rows<TcqRows>,
             kInt16Rows<QjlRows>, kInt16Rows<PolarRows<false>>, kInt16Rows<PolarRows<true>>},
    .softmax = softmax,
    .to_stored = to_stored,
    .from_stored = from_stored,
};

}  // namespace parlance::attention

#endif
