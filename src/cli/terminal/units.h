// Quantities as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace parlance {

std::string format_bytes(double bytes);  // "11.6 MiB"
std::string format_count(double count);  // "12.0 M"
std::string format_ms(double ms);        // "0.35 ms", "35 ms", "1.20 s"
inline std::string format_seconds(double seconds) {
  return format_ms(seconds * 1e3);
}
std::string format_rate(double per_second);   // "9.52", "40.1", "1240"
std::string format_percent(double fraction);  // "73 %", "4.2 %"

}  // namespace parlance
