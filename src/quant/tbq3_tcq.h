// tbq3_tcq: 128 values at 3.25 bits by trellis-coded quantisation (Marcellin and Fischer, 1990). The block is
// divided by its length, signed, rotated and signed again; a path of three bits a step through 512 states
// gives each value, the one of its state. Stored values are those after the rotation: y = norm * value.
#pragma once

#include <array>
#include <cstdint>

#include "base/half.h"

namespace parlance {

struct [[gnu::packed]] BlockTbq3Tcq {
  static constexpr int64_t kElements = 128;
  static constexpr int64_t kStored = 128;
  f16_bits norm;     // such that the decoded block is as long as the encoded one
  uint8_t path[49];  // state t: bits 3 t to 3 t + 8
  uint8_t pad;       // 0
};
static_assert(sizeof(BlockTbq3Tcq) == 52);

inline constexpr int kTrellisStates = 512;
extern const std::array<float, kTrellisStates> kTrellisValues;  // by state

void decode_stored(const BlockTbq3Tcq& block, float* y);

// The path that comes closest, found by the algorithm of Viterbi (1967).
void encode(const float* x, BlockTbq3Tcq& block);

}  // namespace parlance
