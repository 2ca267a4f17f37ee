// The definition of matmul in plain loops: what the kernels of every instruction set are compared with.
#pragma once

#include "kernels/op_table.h"

namespace parlance::matmul {

// Quantised weights: the decoded weights times activations rounded as in activations.h.
Cell<MatmulArgs> scalar_quantised();

// f32, f16 and bf16 weights: the decoded weights times the activations as they are.
Cell<MatmulArgs> scalar_float();

}  // namespace parlance::matmul
