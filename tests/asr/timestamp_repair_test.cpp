#include "asr/timestamp_repair.h"

#include <algorithm>
#include <random>

#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using Times = std::vector<int64_t>;

// Which times stay, by the definition: for each the best length over all that come before.
std::vector<bool> longest_rise_slowly(const Times& times) {
  std::vector<size_t> length(times.size(), 1), before(times.size(), SIZE_MAX);
  for (size_t i = 0; i < times.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (times[j] > times[i] || length[j] + 1 <= length[i]) continue;
      length[i] = length[j] + 1;
      before[i] = j;
    }
  }
  std::vector<bool> stays(times.size(), false);
  if (times.empty()) return stays;
  for (auto i = static_cast<size_t>(std::max_element(length.begin(), length.end()) - length.begin());
       i != SIZE_MAX; i = before[i]) {
    stays[i] = true;
  }
  return stays;
}

TEST(RepairTimestamps, DoesAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("asr/text_rules.json");
  const auto rules = test::read_json(test::fixtures_root() / "asr/text_rules.json");
  for (const auto& row : rules.at("fix_timestamp")) {
    EXPECT_EQ(repair_timestamps(row.at("in").get<Times>()), row.at("out").get<Times>()) << row;
  }
}

TEST(RepairTimestamps, OfNone) {
  EXPECT_EQ(repair_timestamps({}), Times());
}

TEST(RepairTimestamps, SpreadsLongGapsInWholeMilliseconds) {
  EXPECT_EQ(repair_timestamps(Times{0, 10, 900, 800, 700, 20, 30}), (Times{0, 10, 12, 15, 17, 20, 30}));
  EXPECT_EQ(repair_timestamps(Times{90, 80, 70, 0, 10, 20, 30}), (Times{0, 0, 0, 0, 10, 20, 30}));
}

TEST(RepairTimestamps, NeverFallsAndKeepsTheLongestRise) {
  std::mt19937 random(5);
  for (int run = 0; run < 3000; ++run) {
    Times times(random() % 40);
    const int64_t n_values = 1 + random() % 30;
    for (int64_t& time : times) time = static_cast<int64_t>(random()) % n_values * 80;
    const Times repaired = repair_timestamps(times);
    ASSERT_EQ(repaired.size(), times.size());
    ASSERT_TRUE(std::is_sorted(repaired.begin(), repaired.end()));
    const std::vector<bool> stays = longest_rise_slowly(times);
    for (size_t i = 0; i < times.size(); ++i) {
      if (stays[i]) {
        ASSERT_EQ(repaired[i], times[i]);
      }
    }
    ASSERT_EQ(repair_timestamps(repaired), repaired);
  }
}

}  // namespace
}  // namespace parlance
