// Attention's block kernels for AVX-512.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/kv_rows/kernels.h"
#include "kernels/cpu/simd/avx512.h"
#include "kernels/cpu/simd/transpose_words.h"
#include "quant/kv_blocks.h"

#if PARLANCE_X86

namespace parlance::attention {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = simd::Avx512;
#include "kernels/cpu/attention/every_format.simd.h"

#include "kernels/cpu/attention/chunks.avx512.h"
#include "kernels/cpu/attention/int16_rows.avx512.h"

#include "kernels/cpu/attention/byte_codes.avx512.h"
#include "kernels/cpu/attention/byte_rows.avx512.h"
#include "kernels/cpu/attention/byte_values.avx512.h"
#include "kernels/cpu/attention/channel_rows.avx512.h"
#include "kernels/cpu/attention/sign_rows.avx512.h"

template <class Codes>
constexpr KeyKernels kByteKeys = {byte_query_bytes<Codes>, byte_workspace_bytes, prepare_bytes<Codes>,
                                  score_bytes<Codes>};
template <class Codes, class Rows>
constexpr ValueKernels kByteValues = {byte_workspace_bytes, accumulate_bytes<Codes, Rows>,
                                      finish_bytes<Codes>};

constexpr FormatKernels kFewQjlRows = {
    .keys = {sketch_query_bytes, no_workspace, prepare_sketch, score_signs},
    .values = kFewRows<QjlRows>.values,
};

constexpr FormatKernels kManyQjlRows = {
    .keys = {sketch_query_bytes, sketch_workspace_bytes, prepare_sketch, score_sketches},
    .values = kInt16Rows<QjlRows>.values,
};

// In the order of KvFormat.
constexpr std::array<FormatKernels, kKvFormatCount> kManyRowsKernels = {
    kWidened<F32Rows>,  kInt16Rows<F16Rows>,          kInt16Rows<Bf16Rows>,       kInt16Rows<Q8Rows>,
    kInt16Rows<Q4Rows>, kInt16Rows<Tbq3Rows>,         kInt16Rows<Tbq4Rows>,       kInt16Rows<TcqRows>,
    kManyQjlRows,       kInt16Rows<PolarRows<false>>, kInt16Rows<PolarRows<true>>};

}  // namespace

const Kernels kAvx512 = {
    .few = {kFewRows<F32Rows>, kChannelRows<F16Rows>, kChannelRows<Bf16Rows>, kChannelRows<Q8Rows>,
            kChannelRows<Q4Rows>, kChannelRows<Tbq3Rows>, kChannelRows<Tbq4Rows>, kChannelRows<TcqRows>,
            kFewQjlRows, kChannelRows<PolarRows<false>>, kChannelRows<PolarRows<true>>},
    .many = kManyRowsKernels,
    .softmax = softmax,
    .to_stored = kv_rows::to_stored_avx512,
    .from_stored = kv_rows::from_stored_avx512,
};

const Kernels kAvx512Vbmi = {
    .few = {kFewRows<F32Rows>,
            kChannelRows<F16Rows>,
            kChannelRows<Bf16Rows>,
            {kByteKeys<Q8Bytes>, kFewRows<Q8Rows>.values},
            {kByteKeys<Q4Bytes>, kFewRows<Q4Rows>.values},
            {kByteKeys<Tbq3Bytes>, kByteValues<Tbq3Bytes, Tbq3Rows>},
            {kByteKeys<Tbq4Bytes>, kByteValues<Tbq4Bytes, Tbq4Rows>},
            {kByteKeys<TcqBytes>, kByteValues<TcqBytes, TcqRows>},
            kFewQjlRows,
            {kByteKeys<PolarBytes>, kByteValues<PolarBytes, PolarRows<false>>},
            kChannelRows<PolarRows<true>>},
    .many = kManyRowsKernels,
    .softmax = softmax,
    .to_stored = kv_rows::to_stored_avx512,
    .from_stored = kv_rows::from_stored_avx512,
};

const Kernels kDeterministicAvx512 = {
    .few = kFewRowsOfEach,
    .many = kWidenedOfEach,
    .softmax = softmax,
    .to_stored = kv_rows::to_stored_avx512,
    .from_stored = kv_rows::from_stored_avx512,
};

}  // namespace parlance::attention

#endif
