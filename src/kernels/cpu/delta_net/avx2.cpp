// The gated delta net's kernels for AVX2.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "kernels/cpu/delta_net/kernels.h"
#include "kernels/cpu/simd/avx2.h"

#if PARLANCE_X86

namespace parlance::delta_net {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX2
using Lanes = simd::Avx2;
#include "kernels/cpu/delta_net/vectors.simd.h"
//
#include "kernels/cpu/delta_net/channel_kernels.simd.h"
#include "kernels/cpu/delta_net/column_kernels.simd.h"
#include "kernels/cpu/delta_net/token_kernels.simd.h"

}  // namespace

void advance_tokens_avx2(const Chunk& chunk, float* state) {
  advance_tokens(chunk, state);
}

float dot_avx2(const float* x, const float* y, int64_t stride) {
  return dot(x, y, stride);
}

const Kernels kAvx2 = {scale_to_length, dot,          advance_tokens, advance_columns,
                       to_columns,      from_columns, convolve};

}  // namespace parlance::delta_net

#endif
