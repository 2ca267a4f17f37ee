// The cells of matmul for quantised weights, one for each instruction set.
#pragma once

#include "kernels/op_table.h"

namespace parlance::matmul {

namespace amx {
// More rows meet weights rounded to bf16, in tiles of floats, unless the device is deterministic.
inline constexpr int64_t kMostAlikeRows = 64;
}  // namespace amx

Cell<MatmulArgs> quantised_avx2();
Cell<MatmulArgs> quantised_avx512();
Cell<MatmulArgs> quantised_amx(bool deterministic);
Cell<MatmulArgs> quantised_neon();
Cell<MatmulArgs> quantised_neon_dotprod();
Cell<MatmulArgs> quantised_neon_i8mm();

}  // namespace parlance::matmul
