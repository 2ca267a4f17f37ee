// Whoever started this process as a service and wants to know how it is (systemd's notification protocol).
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace parlance {

// "READY=1", "STOPPING=1", "WATCHDOG=1". Nothing happens where nobody listens.
void tell_service_manager(std::string_view state);

// How often "WATCHDOG=1" is expected at least; none: it is not.
std::optional<std::chrono::microseconds> watchdog_time();

}  // namespace parlance
