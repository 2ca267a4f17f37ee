// Takes pieces off a stream's scratch memory, each on a cache line of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.h"

namespace parlance::matmul {

struct ScratchPieces {
  std::byte* base = nullptr;  // null: only counts
  size_t used = 0;            // bytes

  template <class T>
  T* take(int64_t n) {
    constexpr size_t kCacheLine = 64;
    auto* piece = reinterpret_cast<T*>(base ? base + used : nullptr);
    used = align_up(used + static_cast<size_t>(n) * sizeof(T), kCacheLine);
    return piece;
  }
};

}  // namespace parlance::matmul
