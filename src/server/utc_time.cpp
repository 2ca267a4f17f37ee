#include "server/utc_time.h"

#include <fmt/format.h>

namespace parlance {

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto midnight = std::chrono::floor<std::chrono::days>(whole);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(whole - midnight);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace parlance
