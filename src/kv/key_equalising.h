// Finds what equalises a layer's keys.
#pragma once

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

// The shift is what keys have in common over the first n_ctx positions: nearly all of a constant part in
// pairs that turn slowly, and nothing of it in fast ones. The scale makes elements of keys and queries
// equally large, which the error of scores is least for where formats spread it over a block. First keys do
// not count: they are often unlike all others.
KeyEqualiser equaliser_for(std::span<const SampledHead> heads, std::span<const TurningPair> pairs,
                           int64_t n_ctx);

}  // namespace parlance
