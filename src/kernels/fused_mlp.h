// What a device is beside a Device that takes many rows through a feed-forward network in one go: see
// mlp_add() in fused_ops.h.
#pragma once

#include "kernels/op_table.h"

namespace parlance {

// h += down swiglu(gate x, up x), where x is rms_norm(h, norm).
struct FusedMlpArgs {
  Tensor h;  // f32 [n_embd, n_rows]
  Linear gate, up, down;
  Tensor norm;  // f32 [n_embd]
  float norm_eps;
};

class FusesMlps {
 public:
  virtual ~FusesMlps() = default;
  // Null where that is for others than these.
  virtual const Cell<FusedMlpArgs>* fused_mlp(const FusedMlpArgs& args) const = 0;
};

}  // namespace parlance
