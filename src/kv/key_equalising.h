// Finds what equalises a layer's keys.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "kv/attention_sample.h"
#include "kv/equaliser.h"

namespace parlance {

// How a rotated pair of a head's elements turns.
struct TurningPair {
  int64_t first, second;  // elements
  double frequency;       // radians per position
};

// What is the same for all heads of a sample: of each pair, back from the position of a key to the first one,
// and how it turns on average over the first n_ctx positions.
struct KeyTurns {
  KeyTurns(std::span<const TurningPair> pairs, std::span<const int64_t> k_positions, int64_t n_ctx);

  std::vector<TurningPair> pairs;
  std::vector<std::complex<double>> back;  // [n_keys, n_pairs]
  std::vector<std::complex<double>> mean;
};

// The shift is what keys have in common over those positions: nearly all of a constant part in
// pairs that turn slowly, and nothing of it in fast ones. The scale makes elements of keys and queries
// equally large, which the error of scores is least for where formats spread it over a block. First keys do
// not count: they are often unlike all others.
KeyEqualiser equaliser_for(std::span<const SampledHead> heads, const KeyTurns& turns);

}  // namespace parlance
