// Memory that a fuzz target's input makes the program allocate: bad input must not cost more than its size
// class.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace parlance::fuzz {

// Bytes that operator new has handed out and not got back since the start of the program, and the most that
// it ever was since reset_peak().
size_t allocated_bytes();
size_t peak_allocated_bytes();
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
  explicit AllocationLimit(size_t bytes) : limit_(allocated_bytes() + bytes) { reset_peak(); }
  ~AllocationLimit() { require(peak_allocated_bytes() <= limit_, "memory stays in proportion to the input"); }

 private:
  size_t limit_;
};

}  // namespace parlance::fuzz
