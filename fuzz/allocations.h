// Memory that a fuzz target's input makes the program allocate: bad input must not cost more than its size
// class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace parlance::fuzz {

// Bytes that are allocated, from an unknown start, and the most that there were since reset_peak().
int64_t allocated_bytes();
int64_t peak_allocated_bytes();
void reset_peak();

// Ends the program, with what was broken, when the fact is none: a finding, as a crash is.
inline void require(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// While it lives, allocations are measured; at its end they must have stayed below the limit.
class AllocationLimit {
 public:
  explicit AllocationLimit(size_t bytes) : limit_(allocated_bytes() + static_cast<int64_t>(bytes)) {
    reset_peak();
  }
  ~AllocationLimit() { require(peak_allocated_bytes() <= limit_, "memory stays in proportion to the input"); }

 private:
  int64_t limit_;
};

}  // namespace parlance::fuzz
