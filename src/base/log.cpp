#include "base/log.h"

#include <atomic>
#include <cstdio>

namespace parlance {

namespace {

std::atomic<LogLevel> threshold{LogLevel::warning};

const char* label(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    default: return "error";
  }
}

}  // namespace

void set_log_level(LogLevel level) { threshold = level; }

void log_line(LogLevel level, std::string_view message) {
  if (level < threshold.load(std::memory_order_relaxed)) return;
  const std::string line = fmt::format("parlance: {}: {}\n", label(level), message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace parlance
