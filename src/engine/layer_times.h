// How long a layer takes for a piece of a prompt: learned while pieces go through the layers beside running
// answers, a portion of time between two steps of these, so that a piece is of a size that fills portions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/step_times.h"

namespace parlance {

class LayerTimes {
 public:
  // Pieces have so many tokens: the least, which take about as long as fewer, where nothing is known; the
  // most where there is time. Tokens of pieces larger than the best get hardly cheaper.
  static constexpr int64_t kLeast = 16, kBest = 128, kMost = 192;

  // A layer took so long for n tokens behind `depth` others.
  void note(int64_t n, int64_t depth, double ms);

  // What it takes; 0 where that is not known: what comes behind many more tokens than was ever measured is
  // not.
  double layer_ms(int64_t n, int64_t depth) const;

  // The length of a piece behind `depth` tokens, of which a whole number of layers fills such a portion.
  int64_t piece_for(double portion_ms, int64_t depth) const;

 private:
  static constexpr size_t kSizes = 4;  // from 16, 32, 64 and 128 tokens on
  static size_t size_of(int64_t n);
  double token_ms(int64_t n, int64_t depth) const;

  struct Size {
    RecentTimes token_ms;  // of a layer, for each token
    int64_t depth = 0;     // of the last one
    bool knows(int64_t other_depth) const { return !token_ms.empty() && !is_far(other_depth, depth); }
  };
  std::array<Size, kSizes> sizes_;
};

}  // namespace parlance
