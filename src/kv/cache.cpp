#include "kv/cache.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "base/checked.h"

namespace parlance {

size_t KvLayout::bytes_per_token() const {
  return static_cast<size_t>(n_layer * n_head_kv) *
         (kv_row_bytes(k_format, head_dim_k) + kv_row_bytes(v_format, head_dim_v));
}

namespace {

Result<void> validate_side(std::string_view option, KvFormat format, int64_t head_dim) {
  const uint32_t block = traits(format).block_elements;
  if (head_dim % block == 0) return {};
  return fail(ErrorCode::unsupported,
              "{} {} needs a head size that is a multiple of {}, this model has {}; use f16 or bf16", option,
              name_of(format), block, head_dim);
}

}  // namespace

Result<void> validate(const KvLayout& layout) {
  PARLANCE_CHECK(validate_side("--cache-type-k", layout.k_format, layout.head_dim_k));
  return validate_side("--cache-type-v", layout.v_format, layout.head_dim_v);
}

Result<std::unique_ptr<KvCache>> KvCache::create(Device& device, const KvLayout& layout, int64_t n_ctx,
                                                 int n_seq) {
  PARLANCE_CHECK(validate(layout));
  assert(n_ctx > 0 && n_seq > 0);
  std::unique_ptr<KvCache> cache(new KvCache);
  cache->layout_ = layout;
  const auto n_pages = static_cast<size_t>(div_up<int64_t>(n_ctx, layout.page_tokens));
  const auto bytes = checked_mul(n_pages, layout.page_bytes());
  if (n_pages > INT32_MAX || !bytes) {
    return fail(ErrorCode::out_of_memory,
                "a cache of {} positions is beyond what can be addressed; lower --ctx-size", n_ctx);
  }
  KvLayout one_layer = layout;
  one_layer.n_layer = 1;
  const size_t layer_bytes = n_pages * one_layer.page_bytes();
  auto places = cache->allocate_layers(device, layer_bytes);
  if (!places) {
    return fail(ErrorCode::out_of_memory,
                "the KV cache of {} positions needs {:.1f} MiB ({}); lower --ctx-size or choose a smaller "
                "--cache-type-k/-v",
                n_ctx, static_cast<double>(*bytes) / (1 << 20), places.error().message);
  }
  cache->n_pages_ = static_cast<int>(n_pages);
  cache->max_pages_per_seq_ = cache->n_pages_;
  cache->host_table_.assign(n_pages * static_cast<size_t>(n_seq), 0);
  cache->held_.resize(static_cast<size_t>(n_seq));
  for (auto& held : cache->held_) held.reserve(n_pages);
  cache->free_.reserve(n_pages);
  for (int32_t page = cache->n_pages_ - 1; page >= 0; --page) cache->free_.push_back(page);
  PARLANCE_TRY(cache->table_, device.allocate(cache->host_table_.size() * sizeof(int32_t)));

  KvView view;
  view.page_bytes = one_layer.page_bytes();
  view.layer_bytes = layer_bytes;
  view.page_tokens = layout.page_tokens;
  view.page_table = Tensor{.data = cache->table_->base(),
                           .buffer = cache->table_.get(),
                           .dtype = DType::i32,
                           .ne = {cache->max_pages_per_seq_, n_seq, 1, 1},
                           .name = {}};
  view.k_format = layout.k_format;
  view.v_format = layout.v_format;
  view.n_head_kv = layout.n_head_kv;
  view.head_dim_k = layout.head_dim_k;
  view.head_dim_v = layout.head_dim_v;
  view.k_row_bytes = kv_row_bytes(layout.k_format, layout.head_dim_k);
  view.v_row_bytes = kv_row_bytes(layout.v_format, layout.head_dim_v);
  cache->layers_ = KvLayers(view, *std::move(places));
  return cache;
}

// Where the pages of each layer lie. Layers share buffers as far as the device gives such large ones.
Result<std::vector<KvLayers::Place>> KvCache::allocate_layers(Device& device, size_t layer_bytes) {
  constexpr size_t kAlignment = 256;  // as Arena's
  const size_t stride = align_up(layer_bytes, kAlignment);
  const auto n_layer = static_cast<size_t>(layout_.n_layer);
  const size_t per_buffer = std::max<size_t>(device.max_buffer_bytes() / stride, 1);
  std::vector<KvLayers::Place> places;
  for (size_t first = 0; first < n_layer; first += per_buffer) {
    const size_t n = std::min(per_buffer, n_layer - first);
    PARLANCE_TRY(auto buffer, device.allocate(n * stride));
    for (size_t i = 0; i < n; ++i) places.push_back({buffer->base() + i * stride, buffer.get()});
    pages_.push_back(std::move(buffer));
  }
  return places;
}

Result<void> KvCache::grow(int seq, int64_t n_tokens) {
  auto& held = held_[static_cast<size_t>(seq)];
  const auto wanted = static_cast<size_t>(div_up<int64_t>(n_tokens, layout_.page_tokens));
  if (wanted <= held.size()) return {};
  if (wanted - held.size() > free_.size()) {
    return fail(ErrorCode::out_of_memory,
                "the KV cache holds {} positions and {} are needed; raise --ctx-size or shorten the text",
                capacity(), n_tokens);
  }
  while (held.size() < wanted) {
    host_table_[static_cast<size_t>(seq) * static_cast<size_t>(max_pages_per_seq_) + held.size()] =
        free_.back();
    held.push_back(free_.back());
    free_.pop_back();
  }
  table_changed_ = true;
  return {};
}

void KvCache::truncate(int seq, int64_t n_tokens) {
  auto& held = held_[static_cast<size_t>(seq)];
  const auto kept = static_cast<size_t>(div_up<int64_t>(n_tokens, layout_.page_tokens));
  while (held.size() > kept) {
    free_.push_back(held.back());
    held.pop_back();
  }
}

const KvLayers& KvCache::layers(Stream& stream) {
  if (table_changed_) {
    stream.upload(layers_.page_table(), std::as_bytes(std::span(host_table_)));
    table_changed_ = false;
  }
  return layers_;
}

}  // namespace parlance
