// What happens on the server, an event a line: for people as key=value, for programs as JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.h"

namespace parlance {

enum class LogFormat : uint8_t { text, json };

// Keys are never among them, and values of requests only in events that were asked for by --log-content: what
// clients say is nobody's business.
using LogValue = std::variant<std::string, int64_t, double, bool>;
using LogFields = std::vector<std::pair<std::string_view, LogValue>>;

class EventLog {
 public:
  static constexpr size_t kMostLineBytes = 2048;
  using Write = std::function<void(std::string_view line)>;

  // Events below the level are dropped. Lines go to standard error where nobody wants them.
  EventLog(LogFormat format, LogLevel least, Write write = {});

  // From any thread. Texts that are not plain are quoted, or escaped; a line that is too long is cut.
  void write(LogLevel level, std::string_view event, const LogFields& fields);

  // The same for what comes in crowds: once a second at most, then with how many there were ("count").
  void write_seldom(LogLevel level, std::string_view event, const LogFields& fields);

 private:
  std::string line_of(LogLevel level, std::string_view event, const LogFields& fields) const;

  const LogFormat format_;
  const LogLevel least_;
  const Write write_;
  std::mutex mutex_;  // of what follows, and of lines
  struct Seldom {
    std::string what;
    std::chrono::steady_clock::time_point next = {};
    int64_t n_held_back = 0;
  };
  std::vector<Seldom> seldom_;
};

// What a request has become, gathered by those who work on it and logged when its answer has left.
class RequestNotes {
 public:
  void add(std::string_view key, LogValue value) {
    const std::lock_guard lock(mutex_);
    fields_.emplace_back(key, std::move(value));
  }
  LogFields fields() const {
    const std::lock_guard lock(mutex_);
    return fields_;
  }

 private:
  mutable std::mutex mutex_;
  LogFields fields_;  // keys are literals
};

}  // namespace parlance
