#include "cli/terminal/units.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <string_view>

namespace parlance {

namespace {

// Three significant digits, never in scientific notation.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

template <size_t N>
std::string scaled(double value, double step, const std::array<std::string_view, N>& units) {
  size_t i = 0;
  while (i + 1 < N && std::abs(value) >= step * 0.9995) {
    value /= step;
    ++i;
  }
  if (i == 0)
    return units[0].empty() ? fmt::format("{:.0f}", value) : fmt::format("{:.0f} {}", value, units[0]);
  return fmt::format("{} {}", three_digits(value), units[i]);
}

}  // namespace

std::string format_bytes(double bytes) {
  return scaled<6>(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string format_count(double count) {
  return scaled<5>(count, 1000, {"", "K", "M", "G", "T"});
}

std::string format_ms(double ms) {
  return ms < 999.5 ? three_digits(ms) + " ms" : three_digits(ms / 1e3) + " s";
}

std::string format_rate(double per_second) {
  return three_digits(per_second);
}

std::string format_percent(double fraction) {
  const double percent = fraction * 100;
  return percent < 9.95 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.0f} %", percent);
}

}  // namespace parlance
