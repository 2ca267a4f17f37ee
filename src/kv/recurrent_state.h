// The states of a model's recurrent layers for one sequence. Their size does not depend on its length, and
// they cannot be cut: to go back, a copy is put in their place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"
#include "kernels/recurrent_view.h"

namespace parlance {

struct RecurrentLayout {
  int64_t n_layer = 0;    // recurrent ones
  int64_t n_channel = 0;  // of the convolution
  int64_t n_kept = 0;     // inputs of each channel that it looks back
  int64_t head_dim = 0;   // of keys and values
  int64_t n_value_head = 0;

  size_t conv_bytes() const { return static_cast<size_t>(n_channel * n_kept) * sizeof(float); }
  size_t delta_bytes() const {
    return static_cast<size_t>(head_dim * head_dim * n_value_head) * sizeof(float);
  }
  size_t bytes() const { return static_cast<size_t>(n_layer) * (conv_bytes() + delta_bytes()); }
};

class RecurrentState {
 public:
  // Memory that a sequence may start in: kernels take it for zero at position 0.
  static Result<std::unique_ptr<RecurrentState>> create(Device& device, const RecurrentLayout& layout);

  const RecurrentLayout& layout() const { return layout_; }
  std::span<const RecurrentView> layers() const { return layers_; }

  // Copies to and from host memory of layout().bytes().
  Result<void> save(Stream& stream, std::span<std::byte> bytes) const;
  void restore(Stream& stream, std::span<const std::byte> bytes);

 private:
  RecurrentState() = default;

  RecurrentLayout layout_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // of each layer
  std::vector<RecurrentView> layers_;
};

}  // namespace parlance
