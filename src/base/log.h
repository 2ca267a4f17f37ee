// Messages about the program's work, one line each: on standard error, or where the program that this is a
// part of wants them. Results never go through here.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string_view>
#include <utility>

namespace parlance {

enum class LogLevel { debug, info, warning, error, off };

// Messages below this level are dropped. The default is `warning`.
void set_log_level(LogLevel level);

// Takes a message as it was written: parameters in it are marked (base/parameter.h), and what it quotes of
// files may hold control characters. Called from any thread, by one at a time; it must neither log nor throw.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

// Messages go to `sink` from now on, and no longer to the one before, which is returned; an empty one means
// standard error.
LogSink set_log_sink(LogSink sink);

void log_line(LogLevel level, std::string_view message);

template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace parlance
