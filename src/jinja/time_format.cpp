#include "jinja/time_format.h"

#include <chrono>

namespace parlance::jinja {

namespace {

constexpr const char* kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                 "Thursday", "Friday", "Saturday"};
constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                   "July",    "August",   "September", "October", "November", "December"};

struct Moment {
  int year, month, day, hour, minute, second;
  int week_day;  // 0: Sunday
  int year_day;  // 0: the first of January
  int64_t unix_s;
};

Moment moment_of(int64_t unix_s) {
  using namespace std::chrono;
  const sys_seconds time{seconds{unix_s}};
  const sys_days day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(clock.hours().count()),
          static_cast<int>(clock.minutes().count()),
          static_cast<int>(clock.seconds().count()),
          static_cast<int>(weekday{day}.c_encoding()),
          static_cast<int>((day - sys_days{date.year() / January / 1}).count()),
          unix_s};
}

// Year and week of ISO 8601: week 1 is the one with the first Thursday.
std::pair<int, int> iso_week(const Moment& moment) {
  const int monday_based = (moment.week_day + 6) % 7;
  const auto weeks_in = [](int year) {
    const auto shift = [](int y) { return (y + y / 4 - y / 100 + y / 400) % 7; };
    return shift(year) == 4 || shift(year - 1) == 3 ? 53 : 52;
  };
  const int week = (moment.year_day - monday_based + 10) / 7;
  if (week < 1) return {moment.year - 1, weeks_in(moment.year - 1)};
  if (week > weeks_in(moment.year)) return {moment.year + 1, 1};
  return {moment.year, week};
}

class TimeWriter {
 public:
  explicit TimeWriter(const Moment& moment) : moment_(moment) {}

  Result<void> write(char directive, bool pads) {
    const Moment& m = moment_;
    const int hour12 = m.hour % 12 == 0 ? 12 : m.hour % 12;
    switch (directive) {
      case 'a':
        text += std::string_view(kDays[m.week_day]).substr(0, 3);
        break;
      case 'A':
        text += kDays[m.week_day];
        break;
      case 'b':
      case 'h':
        text += std::string_view(kMonths[m.month - 1]).substr(0, 3);
        break;
      case 'B':
        text += kMonths[m.month - 1];
        break;
      case 'c':
        return write_all("a b e T Y", " ");
      case 'C':
        number(m.year / 100, 2, pads);
        break;
      case 'd':
        number(m.day, 2, pads);
        break;
      case 'D':
      case 'x':
        return write_all("m d y", "/");
      case 'e':
        number(m.day, 2, pads, ' ');
        break;
      case 'f':
        text += "000000";
        break;
      case 'F':
        return write_all("Y m d", "-");
      case 'g':
        number(iso_week(m).first % 100, 2, pads);
        break;
      case 'G':
        number(iso_week(m).first, 1, pads);
        break;
      case 'H':
        number(m.hour, 2, pads);
        break;
      case 'I':
        number(hour12, 2, pads);
        break;
      case 'j':
        number(m.year_day + 1, 3, pads);
        break;
      case 'k':
        number(m.hour, 2, pads, ' ');
        break;
      case 'l':
        number(hour12, 2, pads, ' ');
        break;
      case 'm':
        number(m.month, 2, pads);
        break;
      case 'M':
        number(m.minute, 2, pads);
        break;
      case 'n':
        text += '\n';
        break;
      case 'p':
        text += m.hour < 12 ? "AM" : "PM";
        break;
      case 'r':
        PARLANCE_CHECK(write_all("I M S", ":"));
        text += m.hour < 12 ? " AM" : " PM";
        break;
      case 'R':
        return write_all("H M", ":");
      case 's':
        text += std::to_string(m.unix_s);
        break;
      case 'S':
        number(m.second, 2, pads);
        break;
      case 't':
        text += '\t';
        break;
      case 'T':
      case 'X':
        return write_all("H M S", ":");
      case 'u':
        number(m.week_day == 0 ? 7 : m.week_day, 1, pads);
        break;
      case 'U':
        number((m.year_day + 7 - m.week_day) / 7, 2, pads);
        break;
      case 'V':
        number(iso_week(m).second, 2, pads);
        break;
      case 'w':
        number(m.week_day, 1, pads);
        break;
      case 'W':
        number((m.year_day + 7 - (m.week_day + 6) % 7) / 7, 2, pads);
        break;
      case 'y':
        number(m.year % 100, 2, pads);
        break;
      case 'Y':
        number(m.year, 1, pads);
        break;
      case 'z':
      case 'Z':
        break;  // a time without a zone, as datetime.now() gives
      case '%':
        text += '%';
        break;
      default:
        return fail(ErrorCode::unsupported, "strftime_now() does not support the directive '%{}'",
                    directive >= 0x20 && directive < 0x7f ? std::string(1, directive) : "?");
    }
    return {};
  }

  std::string text;

 private:
  void number(int value, int width, bool pads, char fill = '0') {
    const std::string digits = std::to_string(value);
    if (pads && digits.size() < static_cast<size_t>(width)) {
      text.append(static_cast<size_t>(width) - digits.size(), fill);
    }
    text += digits;
  }

  // Directives, written with spaces between them, joined by a separator.
  Result<void> write_all(std::string_view directives, std::string_view separator) {
    for (const char directive : directives) {
      if (directive == ' ') {
        text += separator;
      } else {
        PARLANCE_CHECK(write(directive, true));
      }
    }
    return {};
  }

  const Moment& moment_;
};

}  // namespace

Result<std::string> format_time(std::string_view format, int64_t unix_s) {
  constexpr int64_t kYear1 = -62'135'596'800, kYear10000 = 253'402'300'800;
  if (unix_s < kYear1 || unix_s >= kYear10000) {
    return fail(ErrorCode::invalid_argument,
                "strftime_now() knows the years 1 to 9999, {} s since 1970 lie outside", unix_s);
  }
  const Moment moment = moment_of(unix_s);
  TimeWriter writer(moment);
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      writer.text += format[i];
      continue;
    }
    const bool pads = i + 1 >= format.size() || format[i + 1] != '-';
    if (!pads) ++i;
    if (++i >= format.size()) {
      return fail(ErrorCode::unsupported, "strftime_now() was given a format that ends with '%'");
    }
    PARLANCE_CHECK(writer.write(format[i], pads));
  }
  return writer.text;
}

}  // namespace parlance::jinja
