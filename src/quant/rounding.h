// Roundings as the encoders of the field do them, defined for every float, so that encoded bytes are equal on
// every machine and no value is undefined behaviour.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace parlance {

// Nearest integer, ties to even, for |x| < 2^22; other values yield some integer between -2^22 and 2^22.
inline int round_to_even(float x) {
  constexpr float kShift = 0x1.8p23f;  // here the unit in the last place is 1
  return static_cast<int>(std::bit_cast<uint32_t>(x + kShift) & 0x7fffff) - 0x400000;
}

// The integer part; values that no int32 holds, and NaN, yield the smallest int32 as the x86 conversion does.
inline int32_t truncate(float x) {
  constexpr float kLimit = 0x1p31f;
  return x > -kLimit && x < kLimit ? static_cast<int32_t>(x) : std::numeric_limits<int32_t>::min();
}

// Nearest integer, ties away from zero; outside of int32 as truncate().
inline int32_t round_half_away(float x) {
  const int32_t whole = truncate(x);
  const float fraction = x - static_cast<float>(whole);
  return whole + (fraction >= 0.5f && fraction < 1.0f) - (fraction <= -0.5f && fraction > -1.0f);
}

}  // namespace parlance
