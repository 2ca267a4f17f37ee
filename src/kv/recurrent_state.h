// The states of a model's recurrent layers, a slot for each sequence. Their size does not depend on a
// sequence's length, and they cannot be cut. To go back by a few tokens, they may lag behind the sequence and
// what came since is kept beside them; to go back further, a copy is put in their place.
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
  // The longest end of a sequence that can be taken back at once, in tokens; 0: none can. Two such ends are
  // kept of a sequence: one that its states lag behind, and the one that is being computed.
  int64_t n_draft = 0;

  // Of one sequence in one layer.
  size_t conv_bytes() const { return static_cast<size_t>(n_channel * n_kept) * sizeof(float); }
  size_t delta_bytes() const {
    return static_cast<size_t>(head_dim * head_dim * n_value_head) * sizeof(float);
  }
  // Of one sequence in all layers.
  size_t bytes() const { return static_cast<size_t>(n_layer) * (conv_bytes() + delta_bytes()); }

  // What is kept of tokens that may be taken back (Recurrence::kept).
  int64_t n_places() const { return n_draft == 0 ? 0 : 2 * n_draft + 1; }
  int64_t conv_values() const { return n_channel; }  // of a token in one layer
  int64_t delta_values() const { return n_channel + 2 * n_value_head; }
  size_t kept_bytes() const {  // of one sequence in all layers
    return static_cast<size_t>(n_layer * n_places() * (conv_values() + delta_values())) * sizeof(float);
  }
};

class RecurrentState {
 public:
  // Slots 0 .. n_slots - 1, which are what the kernels' batches name as sequences. A sequence may start in
  // any of them, whatever is there: kernels take it for zero at position 0. Memory is reserved now and, on
  // the CPU, taken from the system as slots are first used.
  static Result<std::unique_ptr<RecurrentState>> create(Device& device, const RecurrentLayout& layout,
                                                        int n_slots);

  const RecurrentLayout& layout() const { return layout_; }
  int n_slots() const { return n_slots_; }
  // Of all slots.
  size_t bytes() const { return static_cast<size_t>(n_slots_) * (layout_.bytes() + layout_.kept_bytes()); }
  std::span<const RecurrentView> layers() const { return layers_; }

  // A second sequence goes on from the states of the first one.
  void copy(Stream& stream, int from, int to);

  // Copies of a slot's states to and from host memory of layout().bytes(), which say nothing of the slot's
  // number.
  Result<void> save(Stream& stream, int slot, std::span<std::byte> bytes) const;
  void restore(Stream& stream, int slot, std::span<const std::byte> bytes);

 private:
  RecurrentState() = default;

  RecurrentLayout layout_;
  int n_slots_ = 0;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // of each layer
  std::vector<RecurrentView> layers_;
};

}  // namespace parlance
