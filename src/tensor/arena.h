// The workspace that activations of one step live in: a bump allocator over one buffer. A dry run of the largest
// batch (with no buffer) finds the size; after that no step allocates.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "base/checked.h"
#include "tensor/buffer.h"
#include "tensor/tensor.h"

namespace parlance {

class Arena {
 public:
  static constexpr size_t kAlignment = 256;  // widest vector, and what GPUs ask of buffer offsets

  // Measures only: tensors get addresses that nobody may read.
  Arena() = default;
  explicit Arena(Buffer& buffer) : buffer_(&buffer) {}

  Tensor allocate(DType dtype, int64_t n0, int64_t n1 = 1, int64_t n2 = 1, int64_t n3 = 1) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.ne = {n0, n1, n2, n3};
    tensor.buffer = buffer_;
    tensor.data = address_of(top_);
    top_ = align_up(top_ + tensor.size(), kAlignment);
    peak_ = std::max(peak_, top_);
    assert(!buffer_ || top_ <= buffer_->size());
    return tensor;
  }

  size_t top() const { return top_; }
  size_t peak() const { return peak_; }
  void release_to(size_t mark) { top_ = mark; }

 private:
  std::byte* address_of(size_t offset) const {
    // A measuring arena counts from a non-null address, since a null one means "absent".
    return buffer_ ? buffer_->base() + offset : reinterpret_cast<std::byte*>(kAlignment + offset);
  }

  Buffer* buffer_ = nullptr;
  size_t top_ = 0;
  size_t peak_ = 0;
};

}  // namespace parlance
