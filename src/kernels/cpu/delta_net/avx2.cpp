// The gated delta net's kernels for AVX2.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

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
#include "kernels/cpu/delta_net/chunk_kernels.simd.h"
#include "kernels/cpu/delta_net/token_kernels.simd.h"

}  // namespace

void advance_tokens_avx2(const Chunk& chunk, float* state) {
  advance_tokens(chunk, state);
}

const Kernels kAvx2 = {scale_to_length, advance_tokens, advance_chunk, transpose, convolve};

}  // namespace parlance::delta_net

#endif
