// Roundings as the encoders of the field do them, without conversions that the language leaves undefined and
// without branches, so that loops over them vectorise and encoded bytes are equal on every machine.
//
// All are exact for |x| < 2^22, far beyond any code. NaN and the infinities yield a multiple of 2^22: as a
// byte, 0.
#pragma once

#include <bit>
#include <cstdint>

namespace parlance {

// Nearest integer, ties to even.
inline int32_t round_to_even(float x) {
  constexpr float kShift = 0x1.8p23f;  // here the unit in the last place is 1
  return static_cast<int32_t>(std::bit_cast<uint32_t>(x + kShift) & 0x7fffff) - 0x400000;
}

// Nearest integer, ties away from zero.
inline int32_t round_half_away(float x) {
  const int32_t even = round_to_even(x);
  const float rest = x - static_cast<float>(even);
  return even + (x > 0 && rest == 0.5f) - (x < 0 && rest == -0.5f);
}

// The integer part.
inline int32_t truncate(float x) {
  const int32_t even = round_to_even(x);
  const auto nearest = static_cast<float>(even);
  return even - (x > 0 && nearest > x) + (x < 0 && nearest < x);
}

}  // namespace parlance
