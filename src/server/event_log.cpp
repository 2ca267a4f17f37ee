#include "server/event_log.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/ascii.h"
#include "base/log_level.h"
#include "json/json.h"
#include "server/utc_time.h"

namespace parlance {

namespace {

std::string number_text(double value) {
  return fmt::format("{:.1f}", value);
}

std::string plain_text(const LogValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    const bool is_plain = !text->empty() && std::all_of(text->begin(), text->end(), [](char c) {
      return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
    });
    return is_plain ? *text : Json(*text).line();
  }
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* whole = std::get_if<int64_t>(&value)) return fmt::format("{}", *whole);
  return std::get<bool>(value) ? "true" : "false";
}

std::string json_text(const LogValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Json(*text).line();
  return plain_text(value);
}

}  // namespace

EventLog::EventLog(LogFormat format, LogLevel least, Write write)
    : format_(format), least_(least), write_(std::move(write)) {}

std::string EventLog::line_of(LogLevel level, std::string_view event, const LogFields& fields) const {
  const bool is_json = format_ == LogFormat::json;
  std::string line = is_json ? fmt::format(R"({{"time":"{}","level":"{}","event":"{}")",
                                           utc_text(std::chrono::system_clock::now()), name_of(level), event)
                             : fmt::format("{} level={} event={}", utc_text(std::chrono::system_clock::now()),
                                           name_of(level), event);
  for (const auto& [key, value] : fields) {
    std::string one = is_json ? fmt::format(R"(,"{}":{})", key, json_text(value))
                              : fmt::format(" {}={}", key, plain_text(value));
    if (line.size() + one.size() + 1 > kMostLineBytes) break;
    line += one;
  }
  if (is_json) line += '}';
  return line;
}

void EventLog::write(LogLevel level, std::string_view event, const LogFields& fields) {
  if (level < least_) return;
  std::string line = line_of(level, event, fields);
  const std::lock_guard lock(mutex_);
  if (write_) return write_(line);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void EventLog::write_seldom(LogLevel level, std::string_view event, const LogFields& fields) {
  if (level < least_) return;
  const auto now = std::chrono::steady_clock::now();
  std::string what(event);
  for (const auto& [key, value] : fields) what += "\n" + plain_text(value);
  int64_t n_held_back = 0;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(seldom_, [&](const Seldom& s) { return s.n_held_back == 0 && s.next <= now; });
    auto one = std::find_if(seldom_.begin(), seldom_.end(), [&](const Seldom& s) { return s.what == what; });
    if (one == seldom_.end()) one = seldom_.insert(seldom_.end(), Seldom{.what = what, .next = {}});
    if (now < one->next) {
      ++one->n_held_back;
      return;
    }
    one->next = now + std::chrono::seconds(1);
    n_held_back = std::exchange(one->n_held_back, 0);
  }
  LogFields with_count = fields;
  with_count.emplace_back("count", n_held_back + 1);
  write(level, event, with_count);
}

}  // namespace parlance
