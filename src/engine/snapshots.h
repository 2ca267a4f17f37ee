// Copies of a sequence's recurrent states at some of its positions. What cannot be cut can return to the last
// copy before, and compute the tokens behind it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kv/prefix_tree.h"

namespace parlance {

struct Snapshot {
  int64_t n_tokens = 0;  // that the states have seen
  StateCopy states;
};

class Snapshots {
 public:
  // For states of so many bytes; 0: there is nothing to keep.
  explicit Snapshots(size_t state_bytes);

  // How many may be kept at once.
  size_t capacity() const { return capacity_; }

  // Whether so much text has passed since the last one that a new one is worth its time, and whether a batch
  // is worth ending there for it.
  bool is_due(int64_t n_tokens) const;
  bool is_worth_a_batch(int64_t n_tokens) const;

  // A new one behind the others. When there are too many, that one goes without which the rest lie closest
  // together: the longest way to compute again stays as short as it can.
  void add(int64_t n_tokens, StateCopy states);

  // The last one at or before a position; null when there is none.
  const Snapshot* latest(int64_t n_tokens) const;

  std::span<const Snapshot> kept() const { return kept_; }  // in order of position

  // Forgets those behind a position.
  void truncate(int64_t n_tokens);

 private:
  int64_t last() const { return kept_.empty() ? 0 : kept_.back().n_tokens; }

  size_t state_bytes_;
  size_t capacity_;
  std::vector<Snapshot> kept_;  // in order of position
};

}  // namespace parlance
