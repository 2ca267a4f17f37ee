// matmul with quantised weights on NEON with DotProd.
#include "kernels/cpu/matmul/cells.h"
#include "kernels/cpu/matmul/quantised.h"
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

#define PARLANCE_SIMD PARLANCE_NEON_DOTPROD

PARLANCE_SIMD PARLANCE_INLINE int32x4_t sum_products(int32x4_t sum, int8x16_t a, int8x16_t b) {
  return vdotq_s32(sum, a, b);
}

#include "kernels/cpu/matmul/neon/vectors.simd.h"
using V = NeonVectors;
#include "kernels/cpu/matmul/quantised_kernels.simd.h"

}  // namespace

Cell<MatmulArgs> quantised_neon_dotprod() {
  return QuantisedMatmul<Set>::cell();
}

}  // namespace parlance::matmul

#endif
