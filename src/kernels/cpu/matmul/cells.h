// The cells of matmul for quantised weights, one for each instruction set.
#pragma once

#include "kernels/op_table.h"

namespace parlance::matmul {

namespace amx {
// More rows meet weights rounded to bf16, in tiles of floats, unless the device is deterministic: from where
// on that is faster. Runs of q8_0 come out of strips as tiles want them.
constexpr int64_t most_alike_rows(DType weights) {
  return weights == DType::q8_0 ? 128 : 64;
}
}  // namespace amx

Cell<MatmulArgs> quantised_avx2();
Cell<MatmulArgs> quantised_avx512();
Cell<MatmulArgs> quantised_amx(bool deterministic);
Cell<MatmulArgs> quantised_neon();
Cell<MatmulArgs> quantised_neon_dotprod();
Cell<MatmulArgs> quantised_neon_i8mm();

}  // namespace parlance::matmul
