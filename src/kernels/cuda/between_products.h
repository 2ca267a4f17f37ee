// The products between two attentions that end in the residual stream or meet each other.
#pragma once

#include "kernels/between_attentions.h"
#include "kernels/fused_rows.h"

namespace parlance::cuda {

inline FusedMatmulArgs added_product(const Tensor& h, const Linear& w, const Tensor& x) {
  FusedMatmulArgs args;
  args.products.x = x;
  args.products.n_outputs = 1;
  args.products.w[0] = w;
  args.products.out[0] = h;
  args.end = MatmulEnd::add;
  return args;
}

inline FusedMatmulArgs gated_product(const BetweenAttentionsArgs& args) {
  FusedMatmulArgs gate;
  gate.products.x = args.h;
  gate.products.n_outputs = 2;
  gate.products.w[0] = args.gate;
  gate.products.w[1] = args.up;
  gate.products.out[0] = args.gates;
  gate.norm = args.mlp_norm;
  gate.norm_eps = args.norm_eps;
  gate.end = MatmulEnd::gate;
  return gate;
}

}  // namespace parlance::cuda
