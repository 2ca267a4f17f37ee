// Shares out one range of memory: first fit, and neighbours that are free become one again. Knows offsets
// only, so that it serves any kind of memory.
#pragma once

#include <cassert>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>

namespace parlance::vulkan {

class Suballocator {
 public:
  explicit Suballocator(size_t bytes) : bytes_(bytes) { free_[0] = bytes; }

  // The offset of `bytes` that are now in use; who asks for multiples of an alignment gets such offsets.
  std::optional<size_t> allocate(size_t bytes) {
    assert(bytes > 0);
    for (auto range = free_.begin(); range != free_.end(); ++range) {
      const auto [offset, size] = *range;
      if (size < bytes) continue;
      free_.erase(range);
      if (size > bytes) free_[offset + bytes] = size - bytes;
      return offset;
    }
    return std::nullopt;
  }

  // Gives back what allocate() gave out.
  void release(size_t offset, size_t bytes) {
    auto next = free_.lower_bound(offset);
    assert(next == free_.end() || offset + bytes <= next->first);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto previous = std::prev(next);
      assert(previous->first + previous->second <= offset);
      if (previous->first + previous->second == offset) {
        previous->second += bytes;
        return;
      }
    }
    free_[offset] = bytes;
  }

  size_t bytes() const { return bytes_; }
  bool is_unused() const { return free_.size() == 1 && free_.begin()->second == bytes_; }
  size_t n_free_ranges() const { return free_.size(); }

 private:
  size_t bytes_;
  std::map<size_t, size_t> free_;  // offset to bytes; no two ranges touch
};

}  // namespace parlance::vulkan
