// The memory of a region, and its way back.
#pragma once

#include <cstddef>

#include "base/os/memory.h"

namespace parlance {

struct RegionBytes {
  size_t weights = 0;  // in the mappings of files, in copies of them in huge pages, or on a GPU
  size_t working = 0;  // caches, states and activations, when all of them are in use

  size_t total() const { return weights + working; }
};

// The first member of what takes much memory: when all else has gone, the heap gives its share back too.
class MemoryReturn {
 public:
  MemoryReturn() = default;
  MemoryReturn(MemoryReturn&& other) noexcept : is_due_(other.is_due_) { other.is_due_ = false; }
  MemoryReturn& operator=(MemoryReturn&&) = delete;
  ~MemoryReturn() {
    if (is_due_) return_free_memory();
  }

 private:
  bool is_due_ = true;
};

}  // namespace parlance
