// Amounts of memory as messages name them.
#pragma once

#include <cstddef>

namespace parlance {

inline double gib(size_t bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}

}  // namespace parlance
