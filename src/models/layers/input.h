// The beginning of the first part: embeddings.
#pragma once

#include "models/model.h"

namespace parlance {

// Rows of token_embd (n_embd, n_vocab) by token, but where the batch brings rows of its own -> h (n_embd,
// n_tokens).
inline Tensor embed(Stream& s, const Tensor& token_embd, const Batch& batch) {
  const Tensor h = get_rows(s, token_embd, batch.token);
  if (batch.embd) copy(s, h.rows(batch.first_embd, batch.embd.ne[1]), batch.embd);
  return h;
}

}  // namespace parlance
