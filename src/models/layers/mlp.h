// The gated feed-forward network (SwiGLU; Shazeer, 2020).
#pragma once

#include "kernels/ops.h"

namespace parlance {

struct MlpWeights {
  Linear gate;  // [n_embd, n_ff]
  Linear up;    // [n_embd, n_ff]
  Linear down;  // [n_ff, n_embd]
};

// down(silu(gate x) * up x): x (n_embd, n_tokens), already normalised -> (n_embd, n_tokens).
inline Tensor mlp(Stream& s, const MlpWeights& w, const Tensor& x) {
  const Products gate_up = matmul(s, {&w.gate, &w.up}, x);
  return matmul(s, w.down, swiglu(s, gate_up.out[0], gate_up.out[1]));
}

}  // namespace parlance
