// What every instruction set has: kernels for each format of a cache in f32, for few rows and for many.

#include "kernels/cpu/attention/rows.simd.h"

#include "kernels/cpu/attention/compressed_rows.simd.h"
#include "kernels/cpu/attention/few_rows.simd.h"
#include "kernels/cpu/attention/many_rows.simd.h"
#include "kernels/cpu/attention/softmax.simd.h"

// In the order of KvFormat.
constexpr std::array<FormatKernels, kKvFormatCount> kFewRowsOfEach = {
    kFewRows<F32Rows>, kFewRows<F16Rows>,          kFewRows<Bf16Rows>,       kFewRows<Q8Rows>,
    kFewRows<Q4Rows>,  kFewRows<Tbq3Rows>,         kFewRows<Tbq4Rows>,       kFewRows<TcqRows>,
    kFewRows<QjlRows>, kFewRows<PolarRows<false>>, kFewRows<PolarRows<true>>};
constexpr std::array<FormatKernels, kKvFormatCount> kWidenedOfEach = {
    kWidened<F32Rows>, kWidened<F16Rows>,          kWidened<Bf16Rows>,       kWidened<Q8Rows>,
    kWidened<Q4Rows>,  kWidened<Tbq3Rows>,         kWidened<Tbq4Rows>,       kWidened<TcqRows>,
    kWidened<QjlRows>, kWidened<PolarRows<false>>, kWidened<PolarRows<true>>};
