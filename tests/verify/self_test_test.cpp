#include "verify/self_test.h"

#include <gtest/gtest.h>

#include "verify/kernel_contract.h"

namespace parlance::verify {
namespace {

TEST(VerifySelfTest, ReproducesThePublishedFiguresOnEveryInstructionSet) {
  const auto devices = cpu_devices(1);
  ASSERT_TRUE(devices) << devices.error().message;
  for (const TestedDevice& tested : *devices) {
    SCOPED_TRACE(tested.label);
    const auto test = run_self_test(tested);
    ASSERT_TRUE(test) << test.error().message;
    ASSERT_EQ(test->figures.size(), kPublishedFigures.size());
    for (const Figure& figure : test->figures)
      EXPECT_EQ(figure.found, figure.published) << name_of(figure.format);
    for (const Parity& parity : test->parities) EXPECT_LE(parity.difference, parity.tolerance) << parity.name;
    EXPECT_TRUE(test->has_passed());
    EXPECT_NEAR(test->exact, -1.293642, 1e-5);
  }
}

TEST(VerifySelfTest, RotatedQueriesMakeEstimatesOfAllFormats) {
  const auto devices = cpu_devices(1);
  ASSERT_TRUE(devices);
  const auto test = run_self_test(devices->front());
  ASSERT_TRUE(test);
  for (const RuntimeScore& score : test->runtime) {
    if (score.format == KvFormat::qjl1_256) continue;  // an estimate with a deviation of 10 here
    EXPECT_NEAR(score.score, test->exact, 2.0f) << name_of(score.format);
  }
}

}  // namespace
}  // namespace parlance::verify
