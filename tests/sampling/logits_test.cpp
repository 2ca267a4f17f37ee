#include "sampling/logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace parlance {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Of every length up to several times what is looked at at once, at every position.
TEST(Logits, OneAmongManyIsFound) {
  for (size_t n = 0; n <= 100; ++n) {
    std::vector<float> logits(n, -std::numeric_limits<float>::max());
    EXPECT_TRUE(all_finite(logits));
    EXPECT_FALSE(any_above(logits, 0));
    for (float& logit : logits) {
      for (const float odd : {std::nanf(""), -std::nanf(""), kInfinity, -kInfinity}) {
        const float before = std::exchange(logit, odd);
        EXPECT_FALSE(all_finite(logits)) << n << " logits";
        EXPECT_EQ(any_above(logits, 0), odd == kInfinity);
        logit = before;
      }
      const float before = std::exchange(logit, std::numeric_limits<float>::denorm_min());
      EXPECT_TRUE(any_above(logits, 0)) << n << " logits";
      EXPECT_FALSE(any_above(logits, logit)) << "of equals none is above";
      EXPECT_TRUE(all_finite(logits));
      logit = before;
    }
  }
}

TEST(Logits, NothingIsAboveWhatIsNoNumber) {
  EXPECT_FALSE(any_above(std::vector<float>(40, 1.0f), std::nanf("")));
  EXPECT_TRUE(any_above(std::vector<float>(40, 1.0f), -kInfinity));
}

}  // namespace
}  // namespace parlance
