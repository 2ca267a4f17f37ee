// The cells of matmul for quantised weights, one for each instruction set.
#pragma once

#include "kernels/op_table.h"

namespace parlance::matmul {

Cell<MatmulArgs> quantised_avx2();
Cell<MatmulArgs> quantised_avx512();
Cell<MatmulArgs> quantised_amx();
Cell<MatmulArgs> quantised_neon();
Cell<MatmulArgs> quantised_neon_dotprod();
Cell<MatmulArgs> quantised_neon_i8mm();

}  // namespace parlance::matmul
