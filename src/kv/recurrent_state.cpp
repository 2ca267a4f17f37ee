#include "kv/recurrent_state.h"

#include <array>
#include <cassert>

#include "base/checked.h"
#include "tensor/arena.h"

namespace parlance {

namespace {

// What a layer keeps of a slot. Slots are the last dimension of both.
std::array<Tensor, 2> slot_of(const RecurrentView& layer, int slot) {
  std::array<Tensor, 2> tensors{layer.conv.state, layer.delta.state};
  tensors[0].ne[2] = tensors[1].ne[3] = 1;
  for (Tensor& tensor : tensors) tensor.data += static_cast<size_t>(slot) * tensor.size();
  return tensors;
}

}  // namespace

Result<std::unique_ptr<RecurrentState>> RecurrentState::create(Device& device, const RecurrentLayout& layout,
                                                               int n_slots) {
  assert(n_slots > 0);
  std::unique_ptr<RecurrentState> state(new RecurrentState);
  state->layout_ = layout;
  state->n_slots_ = n_slots;
  // One behind the other in a layer's buffer.
  RecurrentView view;
  std::vector<Tensor*> tensors = {&view.conv.state, &view.delta.state};
  view.conv.state.ne = {layout.n_channel, layout.n_kept, n_slots, 1};
  view.delta.state.ne = {layout.head_dim, layout.head_dim, layout.n_value_head, n_slots};
  if (layout.n_draft > 0) {
    tensors.insert(tensors.end(), {&view.conv.kept, &view.delta.kept});
    view.conv.kept.ne = {layout.conv_values(), layout.n_places(), n_slots, 1};
    view.delta.kept.ne = {layout.delta_values(), layout.n_places(), n_slots, 1};
  }
  size_t n_bytes = 0;
  for (const Tensor* tensor : tensors) n_bytes = align_up(n_bytes + tensor->size(), Arena::kAlignment);
  for (int64_t layer = 0; layer < layout.n_layer; ++layer) {
    PARLANCE_TRY(auto buffer, device.allocate(n_bytes));
    size_t offset = 0;
    for (Tensor* tensor : tensors) {
      tensor->buffer = buffer.get();
      tensor->data = buffer->base() + offset;
      offset = align_up(offset + tensor->size(), Arena::kAlignment);
    }
    state->layers_.push_back(view);
    state->buffers_.push_back(std::move(buffer));
  }
  return state;
}

void RecurrentState::copy(Stream& stream, int from, int to) {
  assert(from >= 0 && from < n_slots_ && to >= 0 && to < n_slots_ && from != to);
  for (const RecurrentView& layer : layers_) {
    const auto source = slot_of(layer, from), target = slot_of(layer, to);
    for (size_t i = 0; i < source.size(); ++i) stream.copy(target[i], source[i]);
  }
}

Result<void> RecurrentState::save(Stream& stream, int slot, std::span<std::byte> bytes) const {
  assert(slot >= 0 && slot < n_slots_ && bytes.size() == layout_.bytes());
  for (const RecurrentView& layer : layers_) {
    for (const Tensor& tensor : slot_of(layer, slot)) {
      PARLANCE_CHECK(stream.download(bytes.first(tensor.size()), tensor));
      bytes = bytes.subspan(tensor.size());
    }
  }
  return {};
}

void RecurrentState::restore(Stream& stream, int slot, std::span<const std::byte> bytes) {
  assert(slot >= 0 && slot < n_slots_ && bytes.size() == layout_.bytes());
  for (const RecurrentView& layer : layers_) {
    for (const Tensor& tensor : slot_of(layer, slot)) {
      stream.upload(tensor, bytes.first(tensor.size()));
      bytes = bytes.subspan(tensor.size());
    }
  }
}

}  // namespace parlance
