// The gated delta net (Yang et al., 2024): attention's place is taken by a state of fixed size that each
// token decays, corrects and reads.
#pragma once

#include "kernels/ops.h"
#include "kernels/recurrent_view.h"
#include "models/hyper_parameters.h"

namespace parlance {

struct DeltaNetWeights {
  Linear qkv;      // [n_embd, n_channel]: rows of all q heads, all k heads, all v heads
  Linear gate;     // [n_embd, n_inner]
  Linear alpha;    // [n_embd, n_value_head]
  Linear beta;     // [n_embd, n_value_head]
  Tensor conv;     // [n_tap, n_channel]
  Tensor a;        // [n_value_head], negative
  Tensor dt_bias;  // [n_value_head]
  Tensor norm;     // [head_dim], shared by the heads
  Linear output;   // [n_inner, n_embd]
};

// x (n_embd, n_tokens), already normalised -> (n_embd, n_tokens). The state takes in the batch.
Tensor delta_net(Stream& s, const DeltaNetWeights& w, const HyperParameters& hp, const Tensor& x,
                 const RecurrentView& state, const BatchView& batch);

}  // namespace parlance
