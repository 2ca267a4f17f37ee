// The runs of a batch's tokens that belong to one sequence, as kernels see them: a recurrence walks them.
#pragma once

#include <cstdint>

#include "kernels/op_table.h"

namespace parlance::cuda {

// Which sequence and position each token belongs to, and what its run does with the state (see Recurrence).
struct TokenPlaces {
  const int32_t* seq;
  const int32_t* pos;
  const int32_t* from;  // null: states do not lag behind
  const int32_t* to;
  int n_tokens;
};

inline TokenPlaces places_of(const BatchView& batch) {
  return {.seq = batch.seq.as<const int32_t>(),
          .pos = batch.pos.as<const int32_t>(),
          .from = batch.state_from.as<const int32_t>(),
          .to = batch.state_to.as<const int32_t>(),
          .n_tokens = static_cast<int>(batch.seq.n_elements())};
}

#ifdef __CUDACC__
__device__ inline bool starts_run(const TokenPlaces& places, int token) {
  return token == 0 || places.seq[token - 1] != places.seq[token];
}

// Behind the last token of the run that `token` belongs to. A sequence has one run in a batch, so that what
// is not its own lies behind it.
__device__ inline int end_of_run(const TokenPlaces& places, int token) {
  const int seq = places.seq[token];
  int inside = token, outside = places.n_tokens;
  while (outside - inside > 1) {
    const int middle = (inside + outside) / 2;
    (places.seq[middle] == seq ? inside : outside) = middle;
  }
  return outside;
}

// The positions of the run that begins with token `first`.
struct Way {
  int pos, end;
  int from, to;  // where the state stands, and where it is stored
};

__device__ inline Way way_of(const TokenPlaces& places, int first) {
  const int pos = places.pos[first], end = pos + end_of_run(places, first) - first;
  return places.from ? Way{pos, end, places.from[first], places.to[first]} : Way{pos, end, pos, end};
}
#endif

}  // namespace parlance::cuda
