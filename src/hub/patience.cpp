#include "hub/patience.h"

#include <algorithm>
#include <array>
#include <thread>

#include "base/parse_number.h"

namespace parlance {

using std::chrono::seconds;

namespace {

constexpr int64_t kMostSeconds = int64_t{1} << 31;

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<std::chrono::sys_seconds> http_moment(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  constexpr std::string_view kForm = "Sun, 06 Nov 1994 08:49:37 GMT";
  if (text.size() != kForm.size() || !text.ends_with(" GMT")) return std::nullopt;
  const auto number = [&](size_t at, size_t n) { return parse_number<int>(text.substr(at, n)); };
  const auto month = std::ranges::find(kMonths, text.substr(8, 3));
  const auto day = number(5, 2), year = number(12, 4);
  const auto hour = number(17, 2), minute = number(20, 2), second = number(23, 2);
  if (month == kMonths.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
      std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         seconds(*second);
}

}  // namespace

std::optional<seconds> retry_after(std::string_view field, std::chrono::sys_seconds now) {
  if (const auto number = parse_number<int64_t>(field)) {
    if (*number < 0) return std::nullopt;
    return seconds(std::min(*number, kMostSeconds));
  }
  const auto moment = http_moment(field);
  if (!moment) return std::nullopt;
  return std::max(seconds(0), *moment - now);
}

bool wait_for(std::chrono::milliseconds time, const Cancellation& cancellation) {
  constexpr std::chrono::milliseconds kStep{50};
  const auto end = std::chrono::steady_clock::now() + time;
  while (!cancellation.cancelled()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return true;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kStep));
  }
  return false;
}

}  // namespace parlance
