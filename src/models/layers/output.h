// The ends: of a layer, of some layers, of the model.
#pragma once

#include "models/layers/residual.h"
#include "models/model.h"

namespace parlance {

// Behind a layer that another one follows at once: the rows that the batch adds are added, taps see h.
void visit_between(Stream& s, const Batch& batch, const Wants& wants, int64_t layer,
                   const ResidualStream& stream);

// The end of layers that others follow elsewhere or later: the stream takes in the last feed-forward.
Outputs leave_layers(Stream& s, const Batch& batch, const Wants& wants, int64_t last_layer,
                     const MlpWeights& w, const ResidualStream& stream);

struct OutputWeights {
  const Tensor& norm;    // [n_embd]
  const Linear& weight;  // [n_embd, n_vocab]
};

// Whether the model's last layer must yield anything; if not, its memory is all that is left to compute.
inline bool wants_last_layer(const Wants& wants, int64_t last_layer) {
  return wants.rows || wants.taps_layer(last_layer);
}

// The end of the model. Only the wanted tokens go through the last feed-forward, unless a tap is behind it.
Outputs leave_model(Stream& s, const Batch& batch, const Wants& wants, int64_t last_layer,
                    const MlpWeights& w, const OutputWeights& output, const ResidualStream& stream);

}  // namespace parlance
