// matmul with quantised weights on NEON, without DotProd.
#include "kernels/cpu/matmul/quantised.h"
#include "kernels/cpu/matmul/cells.h"
#include "kernels/cpu/matmul/step_codes.h"
#include "kernels/cpu/simd/neon.h"
#include "quant/iq4_nl.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q8_0.h"

#ifdef PARLANCE_NEON

namespace parlance::matmul {

namespace {

#define PARLANCE_SIMD

// Two products of bytes stay within 16 bits, since those of the activations are never -128.
PARLANCE_INLINE int32x4_t sum_products(int32x4_t sum, int8x16_t a, int8x16_t b) {
  const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
  return vpadalq_s16(sum, vpaddq_s16(low, vmull_high_s8(a, b)));
}

#include "kernels/cpu/matmul/neon/vectors.simd.h"
using V = NeonVectors;
#include "kernels/cpu/matmul/quantised_kernels.simd.h"

}  // namespace

Cell<MatmulArgs> quantised_neon() {
  return QuantisedMatmul<Set>::cell();
}

}  // namespace parlance::matmul

#endif
