#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <string>

namespace parlance {

namespace {

std::atomic<LogLevel> threshold{LogLevel::warning};

const char* label(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    default:
      return "error";
  }
}

}  // namespace

void set_log_level(LogLevel level) {
  threshold = level;
}

void log_line(LogLevel level, std::string_view message) {
  if (level == LogLevel::off || level < threshold.load(std::memory_order_relaxed)) return;
  std::string line = fmt::format("parlance: {}: {}", label(level), message);
  // Names from files and requests end up here; they make no second line and move no cursor.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace parlance
