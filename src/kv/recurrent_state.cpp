#include "kv/recurrent_state.h"

#include "base/checked.h"
#include "tensor/arena.h"

namespace parlance {

Result<std::unique_ptr<RecurrentState>> RecurrentState::create(Device& device,
                                                               const RecurrentLayout& layout) {
  std::unique_ptr<RecurrentState> state(new RecurrentState);
  state->layout_ = layout;
  const size_t delta_offset = align_up(layout.conv_bytes(), Arena::kAlignment);
  for (int64_t layer = 0; layer < layout.n_layer; ++layer) {
    PARLANCE_TRY(auto buffer, device.allocate(delta_offset + layout.delta_bytes()));
    RecurrentView view;
    view.conv.buffer = view.delta.buffer = buffer.get();
    view.conv.data = buffer->base();
    view.conv.ne = {layout.n_channel, layout.n_kept, 1, 1};
    view.delta.data = buffer->base() + delta_offset;
    view.delta.ne = {layout.head_dim, layout.head_dim, layout.n_value_head, 1};
    state->layers_.push_back(view);
    state->buffers_.push_back(std::move(buffer));
  }
  return state;
}

Result<void> RecurrentState::save(Stream& stream, std::span<std::byte> bytes) const {
  assert(bytes.size() == layout_.bytes());
  for (const RecurrentView& layer : layers_) {
    for (const Tensor* tensor : {&layer.conv, &layer.delta}) {
      PARLANCE_CHECK(stream.download(bytes.first(tensor->size()), *tensor));
      bytes = bytes.subspan(tensor->size());
    }
  }
  return {};
}

void RecurrentState::restore(Stream& stream, std::span<const std::byte> bytes) {
  assert(bytes.size() == layout_.bytes());
  for (const RecurrentView& layer : layers_) {
    for (const Tensor* tensor : {&layer.conv, &layer.delta}) {
      stream.upload(*tensor, bytes.first(tensor->size()));
      bytes = bytes.subspan(tensor->size());
    }
  }
}

}  // namespace parlance
