// Scratch memory of attention's tiles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.h"

namespace parlance::attention {

inline constexpr size_t kLine = 64;
// Weights are powers of 2: scores are multiplied with this.
inline constexpr float kLog2E = 1.44269504f;

// Hands out consecutive aligned pieces of a thread's scratch memory.
class Pieces {
 public:
  explicit Pieces(std::byte* next) : next_(next) {}
  template <class T>
  T* take(int64_t n) {
    T* piece = reinterpret_cast<T*>(next_);
    next_ += align_up(static_cast<size_t>(n) * sizeof(T), kLine);
    return piece;
  }

 private:
  std::byte* next_;
};

}  // namespace parlance::attention
