// A tensor is a view: element type, sizes, and an address in the memory of some device. Rows are contiguous and
// follow each other without gaps. Sizes are fastest first, as in GGUF: a matrix that maps n_in to n_out values is
// [n_in, n_out], and activations of n_tokens tokens are [n_embd, n_tokens] or [head_dim, n_head, n_tokens].
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace parlance {

class Buffer;

struct Tensor {
  std::byte* data = nullptr;  // address in the device's memory; null when absent (an optional weight)
  Buffer* buffer = nullptr;   // the allocation that holds it (devices without plain addresses need it)
  DType dtype = DType::f32;
  std::array<int64_t, 4> ne{1, 1, 1, 1};
  std::string_view name;  // GGUF name of a weight, for messages; empty for activations

  explicit operator bool() const { return data != nullptr; }

  int64_t n_elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
  int64_t n_rows() const { return ne[1] * ne[2] * ne[3]; }
  size_t row_size() const { return row_bytes(dtype, ne[0]); }  // bytes
  size_t size() const { return row_size() * static_cast<size_t>(n_rows()); }

  // Elements of a tensor in host memory.
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  const std::byte* row(int64_t r) const { return data + static_cast<size_t>(r) * row_size(); }

  // The same elements under other sizes.
  Tensor reshaped(int64_t n0, int64_t n1 = 1, int64_t n2 = 1, int64_t n3 = 1) const {
    assert(n0 * n1 * n2 * n3 == n_elements());
    Tensor view = *this;
    view.ne = {n0, n1, n2, n3};
    return view;
  }

  // Rows [first, first + n) of a matrix.
  Tensor rows(int64_t first, int64_t n) const {
    assert(first >= 0 && n >= 0 && first + n <= n_rows());
    Tensor view = *this;
    view.data += static_cast<size_t>(first) * row_size();
    view.ne = {ne[0], n, 1, 1};
    return view;
  }
};

// "q4_0 [1024, 2048]"
std::string describe(const Tensor& tensor);

}  // namespace parlance
