// Time that has passed, in milliseconds.
#pragma once

#include <chrono>

namespace parlance {

inline double ms_between(std::chrono::steady_clock::time_point from,
                         std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace parlance
