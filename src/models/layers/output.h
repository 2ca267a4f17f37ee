// The end of a part: the last feed-forward, and in the last part the logits.
#pragma once

#include "models/layers/mlp.h"
#include "models/model.h"

namespace parlance {

struct OutputWeights {
  const Tensor& norm;    // [n_embd]
  const Linear& weight;  // [n_embd, n_vocab]
};

// h (n_embd, n_tokens), the residual stream with the last mixer's output; x what the feed-forward sees of it
// -> h behind the feed-forward. For parts that another follows.
inline Tensor leave_part(Stream& s, const MlpWeights& w, const Tensor& h, const Tensor& x) {
  add(s, h, mlp(s, w, x));
  return h;
}

// The same -> logits (n_vocab, n_outputs). Only the tokens whose logits are wanted go through the
// feed-forward.
inline Tensor output_logits(Stream& s, const MlpWeights& w, const OutputWeights& output, const Tensor& h,
                            const Tensor& x, const Tensor& rows, float norm_eps) {
  const Tensor h_out = get_rows(s, h, rows);
  const Tensor x_out = get_rows(s, x, rows);
  add_rms_norm(s, h_out, mlp(s, w, x_out), output.norm, norm_eps, x_out);
  return matmul(s, output.weight, x_out);
}

}  // namespace parlance
