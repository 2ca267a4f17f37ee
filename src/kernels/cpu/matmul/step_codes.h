// The small integers of a block of 256 values that its steps and minimums are multiples of, taken apart
// without vectors: a few words for a whole block.
#pragma once

#include <cstdint>
#include <cstring>

#include "quant/iq4_xs.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_k.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"

namespace parlance::matmul {

// One for each run of 32 values, or for each half of one; in the order of the values.
struct StepCodes {
  int8_t steps[16];
  int8_t minimums[16];
};

inline uint32_t load_word(const uint8_t* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// Eight codes at once: what is stored in one piece can be loaded as a vector without waiting for the memory.
inline void store_words(int8_t* bytes, uint32_t low, uint32_t high) {
  const uint64_t both = low | static_cast<uint64_t>(high) << 32;
  std::memcpy(bytes, &both, sizeof(both));
}

// See unpack_k_scales(); four codes at a time.
inline void unpack_step_codes(const uint8_t (&scales)[12], StepCodes& codes) {
  const uint32_t a = load_word(scales), b = load_word(scales + 4), c = load_word(scales + 8);
  store_words(codes.steps, a & 0x3f3f3f3f, (c & 0x0f0f0f0f) | ((a >> 2) & 0x30303030));
  store_words(codes.minimums, b & 0x3f3f3f3f, ((c >> 4) & 0x0f0f0f0f) | ((b >> 2) & 0x30303030));
}

inline void step_codes(const BlockQ4K& block, StepCodes& codes) { unpack_step_codes(block.scales, codes); }
inline void step_codes(const BlockQ5K& block, StepCodes& codes) { unpack_step_codes(block.scales, codes); }

inline void step_codes(const BlockQ6K& block, StepCodes& codes) { std::memcpy(codes.steps, block.scales, 16); }

inline void step_codes(const BlockQ2K& block, StepCodes& codes) {
  for (int i = 0; i < 16; i += 8) {
    const uint32_t low = load_word(block.scales + i), high = load_word(block.scales + i + 4);
    store_words(codes.steps + i, low & 0x0f0f0f0f, high & 0x0f0f0f0f);
    store_words(codes.minimums + i, (low >> 4) & 0x0f0f0f0f, (high >> 4) & 0x0f0f0f0f);
  }
}

inline void step_codes(const BlockQ3K& block, StepCodes& codes) {
  const uint32_t high = load_word(block.scales + 8);
  uint32_t words[4];
  for (int i = 0; i < 4; ++i) {
    const uint32_t low = (load_word(block.scales + 4 * (i % 2)) >> (i / 2 * 4)) & 0x0f0f0f0f;
    // Codes are 32 too high: with bit 5 flipped, and copied to the bits above it, they are signed.
    const uint32_t code = (low | ((high >> (2 * i)) & 0x03030303) << 4) ^ 0x20202020;
    words[i] = code | (code & 0x20202020) << 1 | (code & 0x20202020) << 2;
  }
  store_words(codes.steps, words[0], words[1]);
  store_words(codes.steps + 8, words[2], words[3]);
}

inline void step_codes(const BlockIq4Xs& block, StepCodes& codes) {
  uint64_t steps = 0;
  for (int run = 0; run < 8; ++run) {
    steps |= static_cast<uint64_t>(static_cast<uint8_t>(step_of(block, run))) << (8 * run);
  }
  std::memcpy(codes.steps, &steps, sizeof(steps));
}

}  // namespace parlance::matmul
