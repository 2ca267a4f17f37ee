#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include "base/log_level.h"
#include "base/parameter.h"

namespace parlance {

namespace {

std::atomic<LogLevel> threshold{LogLevel::warning};

struct Sink {
  std::mutex mutex;
  LogSink take;
};

// Never destroyed: drivers' threads may still have something to say while the program ends.
Sink& sink() {
  static Sink& sink = *new Sink;
  return sink;
}

void write_to_standard_error(LogLevel level, std::string_view message) {
  std::string line = fmt::format("parlance: {}: {}", name_of(level), without_marks(message));
  // Names from files and requests end up here; they make no second line and move no cursor.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void set_log_level(LogLevel level) {
  threshold = level;
}

LogSink set_log_sink(LogSink take) {
  const std::lock_guard lock(sink().mutex);
  return std::exchange(sink().take, std::move(take));
}

void log_line(LogLevel level, std::string_view message) {
  if (level == LogLevel::off || level < threshold.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(sink().mutex);
  if (sink().take) {
    sink().take(level, message);
  } else {
    write_to_standard_error(level, message);
  }
}

}  // namespace parlance
