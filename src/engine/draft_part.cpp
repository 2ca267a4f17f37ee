#include "engine/draft_part.h"

#include <algorithm>

#include "engine/context.h"

namespace parlance {

namespace {

// In units of the most slots.
enum SlotInput { kSlotToken, kSlotSeq, kSlotPos, kSlotSeen, kSlotFirst, kSlotRow, kSlotInputCount };

// Elements [first, first + n) of a list.
Tensor rows_of(Tensor list, int64_t first, int64_t n) {
  list.data += static_cast<size_t>(first) * sizeof(int32_t);
  list.ne = {n, 1, 1, 1};
  return list;
}

}  // namespace

KvLayout draft_layout(const Dflash& drafter, const SessionOptions& options) {
  const HyperParameters& hp = drafter.hyper_parameters();
  KvLayout layout{.n_layer = hp.n_layer,
                  .n_head_kv = hp.n_head_kv,
                  .head_dim_k = hp.head_dim_k,
                  .head_dim_v = hp.head_dim_v};
  layout.policy.n_sink = options.cache.n_sink;  // pages move as the model's do, from f16 to f16
  layout.policy.n_recent = options.cache.n_recent;
  return layout;
}

Result<std::unique_ptr<DraftPart>> DraftPart::create(Device& device, const SessionOptions& options,
                                                     PageCounts n_pages) {
  const Dflash& drafter = *options.drafter;
  const int64_t n_slots = options.n_seq * drafter.parameters().block_size;
  std::unique_ptr<DraftPart> part(new DraftPart(options.drafter, n_slots));
  PARLANCE_TRY(part->cache_, KvCache::create(device, draft_layout(drafter, options), n_pages, options.n_ctx,
                                             options.n_seq + 1));
  part->features_.ne = {drafter.hyper_parameters().n_embd, options.n_batch, 1, 1};
  PARLANCE_TRY(part->features_buffer_, device.allocate(part->features_.size()));
  part->features_.buffer = part->features_buffer_.get();
  part->features_.data = part->features_buffer_->base();
  PARLANCE_TRY(part->inputs_, InputLists::create(device, kSlotInputCount, n_slots));
  return part;
}

Dflash::Blocks DraftPart::blocks_of(int64_t n_slots, int64_t n_rows, int64_t n_kv_bound) const {
  return {.token = inputs_.on_device(kSlotToken, n_slots),
          .view = {.seq = inputs_.on_device(kSlotSeq, n_slots),
                   .pos = inputs_.on_device(kSlotPos, n_slots),
                   .n_kv_bound = n_kv_bound},
          .seen = inputs_.on_device(kSlotSeen, n_slots),
          .first = inputs_.on_device(kSlotFirst, n_slots),
          .rows = inputs_.on_device(kSlotRow, n_rows)};
}

void DraftPart::write_noise(Stream& stream, const Tensor& noise, const BatchView& view) {
  const KvLayers& kv = cache_->layers(stream);
  const KvLayout& layout = cache_->layout();
  const int64_t n_values = layout.head_dim_k * layout.n_head_kv, n_most = noise.n_elements() / n_values;
  const int64_t n_tokens = view.pos.n_elements();
  for (int64_t first = 0; first < n_tokens && n_most > 0; first += n_most) {
    const int64_t n = std::min(n_most, n_tokens - first);
    Tensor values = noise;
    values.ne = {layout.head_dim_k, layout.n_head_kv, n, 1};
    const BatchView some{.seq = rows_of(view.seq, first, n),
                         .pos = rows_of(view.pos, first, n),
                         .n_kv_bound = view.n_kv_bound};
    for (int64_t layer = 0; layer < layout.n_layer; ++layer)
      kv_write(stream, kv.layer(layer), values, values, some);
  }
}

void DraftPart::plan(Stream& stream, int64_t n_kv_bound) {
  drafter_->draft(stream, blocks_of(n_slots_, n_slots_, n_kv_bound), cache_->layers(stream));
}

Tensor DraftPart::draft(Stream& stream, const HostBlocks& blocks) {
  const auto put = [&](const std::vector<int32_t>& values, SlotInput which) {
    std::ranges::copy(values, inputs_.host(which).begin());
  };
  put(blocks.token, kSlotToken);
  put(blocks.seq, kSlotSeq);
  put(blocks.pos, kSlotPos);
  put(blocks.seen, kSlotSeen);
  put(blocks.first, kSlotFirst);
  put(blocks.row, kSlotRow);
  inputs_.upload(stream);
  const KvLayers& kv = cache_->layers(stream);
  Tensor logits;
  stream.step(Stream::kOnce, [&] {
    logits =
        drafter_->draft(stream, blocks_of(blocks.n_slots(), std::ssize(blocks.row), blocks.n_kv_bound), kv);
  });
  return logits;
}

}  // namespace parlance
