#include "server/utc_time.h"

#include <gtest/gtest.h>

namespace parlance {
namespace {

TEST(UtcTime, IsThatOfTheCalendar) {
  using std::chrono::system_clock;
  EXPECT_EQ(utc_text(system_clock::from_time_t(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(utc_text(system_clock::from_time_t(951827696)), "2000-02-29T12:34:56.000Z");
  EXPECT_EQ(utc_text(system_clock::from_time_t(951827696) + std::chrono::microseconds(12999)),
            "2000-02-29T12:34:56.012Z");
  EXPECT_EQ(utc_text(system_clock::from_time_t(0) - std::chrono::milliseconds(1)),
            "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace parlance
