// The runs of a batch's tokens that belong to one sequence: what a recurrence walks. See Recurrence.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/op_table.h"

namespace parlance {

// Tokens [first, end) of a batch, of one sequence and in order of position.
struct SequenceRun {
  int64_t first;
  int64_t end;
  int64_t seq;
  int64_t pos;       // of the first token
  int64_t from, to;  // positions: where the state stands, and where it is stored

  int64_t n_tokens() const { return end - first; }
  int64_t end_pos() const { return pos + n_tokens(); }
  bool starts_from_zero() const { return from == 0; }
  int64_t first_kept() const { return std::max(pos, to); }  // position: inputs from there on are kept
};

// The run that begins with token `first`.
inline SequenceRun run_from(const BatchView& batch, int64_t first) {
  const auto* seq = batch.seq.as<const int32_t>();
  const int64_t n_tokens = batch.seq.n_elements(), pos = batch.pos.as<const int32_t>()[first];
  SequenceRun run{first, first + 1, seq[first], pos, pos, 0};
  while (run.end < n_tokens && seq[run.end] == seq[first]) ++run.end;
  run.to = run.end_pos();
  if (batch.state_from) {
    run.from = batch.state_from.as<const int32_t>()[first];
    run.to = batch.state_to.as<const int32_t>()[first];
  }
  return run;
}

// Calls take(position, place, n, is_kept) for stretches of positions [first, end) of a run whose inputs lie
// next to each other: from a place of what is kept on, of which there are n_places, or from a token of the
// batch on.
template <class Take>
void for_each_stretch(const SequenceRun& run, int64_t n_places, int64_t first, int64_t end,
                      const Take& take) {
  while (first < end) {
    const bool is_kept = first < run.pos;
    const int64_t place = is_kept ? first % n_places : run.first + first - run.pos;
    const int64_t next = is_kept ? std::min({end, run.pos, first + n_places - place}) : end;
    take(first, place, next - first, is_kept);
    first = next;
  }
}

}  // namespace parlance
