// Messages for the person running the program, on standard error, one line each. Results go to standard
// output, never through here.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace parlance {

enum class LogLevel { debug, info, warning, error, off };

// Messages below this level are dropped. The default is `warning`.
void set_log_level(LogLevel level);

// Control characters in the message are written as spaces.
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
