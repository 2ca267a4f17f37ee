#include "sampling/portable_exp.h"

#include <cmath>

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(PortableExp, IsTheExponentialFunction) {
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-INFINITY), 0);
  EXPECT_EQ(portable_exp(NAN), 0);
  EXPECT_EQ(portable_exp(-1000), 0);
  for (double x = 0; x > -700; x -= 0.0137) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-12) << x;
}

}  // namespace
}  // namespace parlance
