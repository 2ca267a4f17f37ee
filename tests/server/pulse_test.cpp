#include "server/pulse.h"

#include "gtest/gtest.h"

namespace parlance {
namespace {

using std::chrono::seconds;

TEST(Pulse, StopsWhereSomethingIsWantedAndNothingIsDone) {
  Pulse pulse;
  auto now = Pulse::Clock::now();
  const auto silence_after = [&](int n_seconds, bool is_wanted, uint64_t step, double processors) {
    static double processor_s = 0;
    static uint64_t n_steps = 0;
    for (int i = 0; i < n_seconds; ++i) {
      now += seconds(1);
      n_steps += step;
      processor_s += processors;
      pulse.note(is_wanted, n_steps, processor_s, now);
    }
    return pulse.silence(now);
  };
  EXPECT_EQ(silence_after(20, false, 0, 0), seconds(0));     // nobody wants anything
  EXPECT_EQ(silence_after(20, true, 1, 0.1), seconds(0));    // steps are made
  EXPECT_EQ(silence_after(20, true, 0, 1.9), seconds(0));    // a long one is
  EXPECT_EQ(silence_after(20, true, 0, 0.01), seconds(20));  // it hangs
  EXPECT_EQ(silence_after(1, true, 1, 0), seconds(0));
}

}  // namespace
}  // namespace parlance
