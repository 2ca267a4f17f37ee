#include "tts/gumbel.h"

#include <cmath>

#include "support/fixtures.h"
#include "support/npy.h"

namespace parlance {
namespace {

std::vector<float> recorded(const std::string& name) {
  return test::read_npy(test::fixtures_root() / "omnivoice/rng" / (name + ".npy")).as_floats();
}

void expect_scores(const std::vector<float>& expected, float temperature, uint64_t call) {
  const std::vector<float> values = recorded("gumbel_in");
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(gumbel_score(values[i], temperature, 42, call, i), expected[i], 1e-5f) << i;
}

TEST(Gumbel, RecordedScores) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/rng");
  expect_scores(recorded("gumbel_out_t5_seed42_ctr0"), 5, 0);
  expect_scores(recorded("gumbel_out_t0.8_seed42_ctr3"), 0.8f, 3);
}

TEST(Gumbel, RecordedCutToTheLargest) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/rng");
  const std::vector<float> values = recorded("gumbel_in"), kept = recorded("topk_out_ratio0.1");
  std::vector<float> scratch(values.size());
  const float smallest = smallest_kept(values, 0.1f, scratch);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i] >= smallest, std::isfinite(kept[i])) << i;
}

TEST(Gumbel, CutsOfAnySizeKeepAtLeastOneAndAtMostAll) {
  const std::vector<float> values{3, 1, 2, 2};
  std::vector<float> scratch(values.size());
  EXPECT_EQ(smallest_kept(values, 0, scratch), 3);
  EXPECT_EQ(smallest_kept(values, 0.25f, scratch), 3);
  EXPECT_EQ(smallest_kept(values, 0.5f, scratch), 2);
  EXPECT_EQ(smallest_kept(values, 1, scratch), 1);
  EXPECT_EQ(smallest_kept(values, 2, scratch), 1);
}

}  // namespace
}  // namespace parlance
