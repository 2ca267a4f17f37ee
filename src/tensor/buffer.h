// Memory of a device.
#pragma once

#include <cstddef>

namespace parlance {

// An allocation, freed with the object. On the CPU the base is a host address; on a device without plain
// addresses it is an opaque, unique one, and Tensor::data - base() is the offset.
class Buffer {
 public:
  virtual ~Buffer() = default;
  std::byte* base() const { return base_; }
  size_t size() const { return size_; }

 protected:
  Buffer(std::byte* base, size_t size) : base_(base), size_(size) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  std::byte* base_;
  size_t size_;
};

}  // namespace parlance
