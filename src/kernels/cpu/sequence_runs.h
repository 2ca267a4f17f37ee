// The runs of a batch's tokens that belong to one sequence: what a recurrence walks.
#pragma once

#include <cstdint>

#include "kernels/op_table.h"

namespace parlance {

// Tokens [first, end) of a batch, of one sequence and in order of position.
struct SequenceRun {
  int64_t first;
  int64_t end;
  int64_t seq;
  bool starts_sequence;  // at position 0: whatever state is kept counts as zero

  int64_t n_tokens() const { return end - first; }
};

// The run that begins with token `first`.
inline SequenceRun run_from(const BatchView& batch, int64_t first) {
  const auto* seq = batch.seq.as<const int32_t>();
  const int64_t n_tokens = batch.seq.n_elements();
  SequenceRun run{first, first + 1, seq[first], batch.pos.as<const int32_t>()[first] == 0};
  while (run.end < n_tokens && seq[run.end] == seq[first]) ++run.end;
  return run;
}

}  // namespace parlance
