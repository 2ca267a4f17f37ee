// The beginning of a forward pass: embeddings and rotary positions.
#pragma once

#include "models/model.h"

namespace parlance {

// Rows of token_embd (n_embd, n_vocab) by token, but where the batch brings rows of its own -> h (n_embd,
// n_tokens).
inline Tensor embed(Stream& s, const Tensor& token_embd, const Batch& batch) {
  const Tensor h = get_rows(s, token_embd, batch.token);
  for (const RowsAt& at : batch.embedded) copy(s, h.rows(at.first, at.rows.ne[1]), at.rows);
  return h;
}

// What a part's layers turn queries and keys with.
struct RopeWeights {
  Tensor inverse;   // [n_rot / 2, 2]
  Tensor sections;  // i32 [n_rot / 2], or absent
  float magnitude = 1;
};

// cos and sin (n_rot / 2, 2, n_tokens) at the batch's positions.
inline Tensor angles_of(Stream& s, const RopeWeights& rope, const Batch& batch) {
  if (!batch.rope_pos) return rope_angles(s, batch.view.pos, rope.inverse, rope.magnitude);
  return sectioned_rope_angles(s, batch.rope_pos, rope.sections, rope.inverse, rope.magnitude);
}

}  // namespace parlance
