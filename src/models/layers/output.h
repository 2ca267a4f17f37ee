// The ends: of a layer, of some layers, of the model.
#pragma once

#include "models/layers/mlp.h"
#include "models/model.h"

namespace parlance {

// Behind a layer that another one follows at once, h (n_embd, n_tokens) being the residual stream and x
// the same under `next_norm`: rows that the batch adds are added to both, taps see h.
void visit_between(Stream& s, const Batch& batch, const Wants& wants, int64_t layer, const Tensor& h,
                   const Tensor& x, const Tensor& next_norm, float norm_eps);

// The end of layers that others follow elsewhere or later: h takes in the last feed-forward of x.
Outputs leave_layers(Stream& s, const Batch& batch, const Wants& wants, int64_t last_layer,
                     const MlpWeights& w, const Tensor& h, const Tensor& x);

struct OutputWeights {
  const Tensor& norm;    // [n_embd]
  const Linear& weight;  // [n_embd, n_vocab]
  float norm_eps;
};

// Whether the model's last layer must yield anything; if not, its memory is all that is left to compute.
inline bool wants_last_layer(const Wants& wants, int64_t last_layer) {
  return wants.rows || wants.taps_layer(last_layer);
}

// The end of the model. Only the wanted tokens go through the last feed-forward, unless a tap is behind it.
Outputs leave_model(Stream& s, const Batch& batch, const Wants& wants, int64_t last_layer,
                    const MlpWeights& w, const OutputWeights& output, const Tensor& h, const Tensor& x);

}  // namespace parlance
