// The gated delta net's kernels for AVX-512.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/checked.h"
#include "kernels/cpu/delta_net/kernels.h"
#include "kernels/cpu/simd/avx512.h"

#if PARLANCE_X86

namespace parlance::delta_net {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = simd::Avx512;
#include "kernels/cpu/delta_net/token_kernels.simd.h"
//
#include "kernels/cpu/delta_net/chunk_kernels.simd.h"

}  // namespace

const Kernels kAvx512 = {scale_to_length, advance_tokens, advance_chunk, transpose};

}  // namespace parlance::delta_net

#endif
