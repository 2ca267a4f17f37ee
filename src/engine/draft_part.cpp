#include "engine/draft_part.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "engine/context.h"
#include "engine/draft_tree.h"
#include "engine/step_size.h"

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
  std::unique_ptr<DraftPart> part(new DraftPart(options.drafter, options.n_seq, n_slots));
  part->n_kv_bound_ = align_up(options.n_ctx, kBoundStride);
  PARLANCE_TRY(part->cache_, KvCache::create(device, draft_layout(drafter, options), n_pages, options.n_ctx,
                                             n_table_rows(options)));
  PARLANCE_TRY(part->inputs_, InputLists::create(device, kSlotInputCount, n_slots));
  return part;
}

Dflash::Blocks DraftPart::blocks_of(const Shape& shape) const {
  const int64_t n = shape.n_slots;
  return {.token = inputs_.on_device(kSlotToken, n),
          .view = {.seq = inputs_.on_device(kSlotSeq, n),
                   .pos = inputs_.on_device(kSlotPos, n),
                   .n_kv_bound = shape.n_kv_bound},
          .seen = inputs_.on_device(kSlotSeen, n),
          .first = inputs_.on_device(kSlotFirst, n),
          .rows = inputs_.on_device(kSlotRow, shape.n_rows)};
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
  const Shape shape{.n_slots = n_slots_,
                    .n_rows = n_slots_,
                    .n_kv_bound = n_kv_bound,
                    .n_choices = kTreeChoices,
                    .is_recorded = false};
  pass(stream, shape, cache_->layers(stream));
}

// Choices are fewer than 8, recorded rows fewer than 512. Above what keys of the model's steps have.
uint64_t DraftPart::Shape::key() const {
  if (!is_recorded) return Stream::kOnce;
  return uint64_t{1} << 63 | static_cast<uint64_t>(n_kv_bound) << 24 | static_cast<uint64_t>(n_slots) << 12 |
         static_cast<uint64_t>(n_rows) << 3 | static_cast<uint64_t>(n_choices);
}

DraftPart::Shape DraftPart::shape_of(const Stream& stream, const HostBlocks& blocks) const {
  Shape shape{.n_slots = blocks.n_slots(),
              .n_rows = std::ssize(blocks.row),
              .n_kv_bound = std::min(position_bound(blocks.n_kv_bound), n_kv_bound_),
              .n_choices = blocks.n_choices,
              .is_recorded = stream.keeps_recordings() && is_recorded_size(blocks.n_slots())};
  if (shape.is_recorded) {
    shape.n_slots = recorded_size(shape.n_slots, n_slots_);
    shape.n_rows = recorded_size(shape.n_rows, shape.n_slots);
  }
  return shape;
}

// The slots of the shape that the blocks do not fill are of a sequence that nobody reads, from its start on.
void DraftPart::upload(Stream& stream, const HostBlocks& blocks, const Shape& shape) {
  inputs_.set_length(shape.n_slots);
  const auto host = [this](SlotInput which) { return inputs_.host(which).begin(); };
  std::ranges::copy(blocks.token, host(kSlotToken));
  std::ranges::copy(blocks.seq, host(kSlotSeq));
  std::ranges::copy(blocks.pos, host(kSlotPos));
  std::ranges::copy(blocks.seen, host(kSlotSeen));
  std::ranges::copy(blocks.first, host(kSlotFirst));
  std::ranges::copy(blocks.row, host(kSlotRow));
  const int64_t n = blocks.n_slots(), n_rows = std::ssize(blocks.row);
  std::fill(host(kSlotToken) + n, host(kSlotToken) + shape.n_slots, 0);
  std::fill(host(kSlotSeq) + n, host(kSlotSeq) + shape.n_slots, static_cast<int32_t>(n_seq_));
  std::iota(host(kSlotPos) + n, host(kSlotPos) + shape.n_slots, 0);
  std::iota(host(kSlotSeen) + n, host(kSlotSeen) + shape.n_slots, 0);
  std::fill(host(kSlotFirst) + n, host(kSlotFirst) + shape.n_slots, 0);
  std::fill(host(kSlotRow) + n_rows, host(kSlotRow) + shape.n_rows, 0);
  inputs_.upload(stream);
}

Tensor DraftPart::pass(Stream& stream, const Shape& shape, const KvLayers& kv) const {
  const Tensor logits = drafter_->draft(stream, blocks_of(shape), kv);
  return shape.n_choices > 0 ? top_k_with_probability(stream, logits, shape.n_choices) : logits;
}

Tensor DraftPart::draft(Stream& stream, const HostBlocks& blocks) {
  const Shape shape = shape_of(stream, blocks);
  upload(stream, blocks, shape);
  const KvLayers& kv = cache_->layers(stream);
  Tensor& output = outputs_[shape.key()];
  stream.step(shape.key(), [&] { output = pass(stream, shape, kv); });
  return output ? output.rows(0, std::ssize(blocks.row)) : output;
}

}  // namespace parlance
