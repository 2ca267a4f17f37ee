#include "support/json_file.h"
#include "tts/schedule.h"

#include <numeric>

#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(Schedule, RecordedTimesAndCounts) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/rng");
  for (const auto& recorded : test::read_json(test::fixtures_root() / "omnivoice/rng/schedule.json")) {
    const int n_step = recorded["num_step"];
    const float shift = recorded["t_shift"];
    EXPECT_EQ(step_times(n_step, shift), recorded["ts"].get<std::vector<float>>()) << n_step;
    EXPECT_EQ(slots_per_step(n_step, shift, recorded["total"]), recorded["sched"].get<std::vector<int64_t>>())
        << n_step;
  }
}

TEST(Schedule, EverySlotIsDecidedOnce) {
  for (const int n_step : {1, 2, 3, 31, 1000}) {
    for (const float shift : {0.001f, 0.1f, 1.0f, 3.0f, 1000.0f}) {
      for (const int64_t n_slots : {1, 2, 7, 8 * 223}) {
        const std::vector<int64_t> counts = slots_per_step(n_step, shift, n_slots);
        EXPECT_EQ(counts.size(), static_cast<size_t>(n_step));
        EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), n_slots);
        for (const int64_t n : counts) EXPECT_GE(n, 0);
      }
    }
  }
}

}  // namespace
}  // namespace parlance
