// Roundings against the standard library's, on and around every tie that a code can meet.
#include "quant/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace parlance {
namespace {

TEST(Rounding, AgreesWithTheStandardLibrary) {
  for (int quarter = -4 * 200; quarter <= 4 * 200; ++quarter) {
    const float exact = static_cast<float>(quarter) / 4;
    for (const float x : {std::nextafter(exact, -1e9f), exact, std::nextafter(exact, 1e9f)}) {
      EXPECT_EQ(round_to_even(x), std::lrint(x)) << x;  // the default rounding mode is to even
      EXPECT_EQ(round_half_away(x), std::lround(x)) << x;
      EXPECT_EQ(truncate(x), static_cast<int32_t>(x)) << x;
    }
  }
}

TEST(Rounding, HoldsUpToItsLimit) {
  for (const float x : {4194303.0f, -4194303.0f, 4194302.5f, -4194302.5f}) {
    EXPECT_EQ(round_to_even(x), std::lrint(x));
    EXPECT_EQ(round_half_away(x), std::lround(x));
    EXPECT_EQ(truncate(x), static_cast<int32_t>(x));
  }
}

TEST(Rounding, WhatIsNoNumberIsZeroAsAByte) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(static_cast<int8_t>(round_to_even(x)), 0) << x;
    EXPECT_EQ(static_cast<int8_t>(round_half_away(x)), 0) << x;
    EXPECT_EQ(static_cast<int8_t>(truncate(x)), 0) << x;
  }
}

}  // namespace
}  // namespace parlance
