// What happens on other threads, sooner or later.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace parlance::test {

// Waits for it, for ten seconds at least; whether it has.
inline bool comes_true(const std::function<bool()>& is_true) {
  for (int i = 0; i < 10000 && !is_true(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return is_true();
}

}  // namespace parlance::test
