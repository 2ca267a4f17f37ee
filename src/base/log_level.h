// Log levels by name, as settings and events write them.
#pragma once

#include <optional>
#include <string_view>

#include "base/log.h"

namespace parlance {

std::string_view name_of(LogLevel level);  // "info"; of `off`, which no message has: "off"
// None: there is no such level. `off` is not one that messages are written at.
std::optional<LogLevel> log_level_of(std::string_view name);

}  // namespace parlance
