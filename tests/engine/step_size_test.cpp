// What a step says of its size.
#include "engine/step_size.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace parlance::test {
namespace {

RunBounds bounds_of(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> seq;
  for (size_t i = 0; i < lengths.size(); ++i) seq.insert(seq.end(), static_cast<size_t>(lengths[i]), i % 2);
  return RunBounds::of(seq);
}

TEST(StepSize, RunsHaveBounds) {
  std::set<uint64_t> keys;
  for (const int32_t least : {1, 2, 31, 32, 33, 500}) {
    for (const int32_t most : {1, 2, 31, 32, 33, 500}) {
      if (most < least) continue;
      const RunBounds bounds = bounds_of({most, least, most});
      EXPECT_LE(bounds.least, least);
      EXPECT_GE(bounds.most, most);
      EXPECT_EQ(bounds.least > 1, least > 1);
      EXPECT_EQ(bounds.most == 1, most == 1);
      EXPECT_EQ(bounds.least > RunBounds::kFewRows, least > RunBounds::kFewRows);
      EXPECT_EQ(bounds.most > RunBounds::kFewRows, most > RunBounds::kFewRows);
      EXPECT_LT(bounds.key(), 9u);
      keys.insert(bounds.key());
    }
  }
  EXPECT_EQ(keys.size(), 6u);  // one, a few or many, and no fewer than the least
}

}  // namespace
}  // namespace parlance::test
