// Times as people and programs read them.
#pragma once

#include <chrono>
#include <string>

namespace parlance {

// "2026-11-22T21:07:02.123Z" (RFC 3339)
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace parlance
