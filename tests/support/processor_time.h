// What this thread has had of a processor: of a bound on time, the part that a busy machine does not change.
#pragma once

#include <ctime>

namespace parlance::test {

inline double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace parlance::test
