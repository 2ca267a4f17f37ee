#include "kv/cache.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "base/checked.h"

namespace parlance {

size_t KvLayout::layer_bytes_per_token(const LayerCoding& coding) const {
  return static_cast<size_t>(n_head_kv) *
         (kv_row_bytes(coding.k.format, head_dim_k) + kv_row_bytes(coding.v.format, head_dim_v));
}

size_t KvLayout::bytes_per_token() const {
  size_t bytes = 0;
  for (int64_t layer = 0; layer < n_layer; ++layer) bytes += layer_bytes_per_token(coding(layer));
  return bytes;
}

namespace {

Result<void> validate_side(std::string_view option, KvFormat format, int64_t head_dim) {
  const uint32_t block = traits(format).block_elements;
  if (head_dim % block == 0) return {};
  return fail(ErrorCode::unsupported,
              "{} {} needs a head size that is a multiple of {}, this model has {}; use f16 or bf16", option,
              name_of(format), block, head_dim);
}

// The view of a layer, but for where its pages lie.
KvView view_of(const KvLayout& layout, const LayerCoding& coding, int64_t n_pages) {
  KvView view;
  view.k = coding.k;
  view.v = coding.v;
  view.page_tokens = layout.page_tokens;
  view.n_head_kv = layout.n_head_kv;
  view.head_dim_k = layout.head_dim_k;
  view.head_dim_v = layout.head_dim_v;
  view.k_row_bytes = kv_row_bytes(coding.k.format, layout.head_dim_k);
  view.v_row_bytes = kv_row_bytes(coding.v.format, layout.head_dim_v);
  view.page_bytes = layout.layer_bytes_per_token(coding) * static_cast<size_t>(layout.page_tokens);
  view.layer_bytes = view.page_bytes * static_cast<size_t>(n_pages);
  return view;
}

}  // namespace

Result<void> validate(const KvLayout& layout) {
  const KvPolicy& policy = layout.policy;
  PARLANCE_CHECK(validate_side("--cache-type-k", policy.k.format, layout.head_dim_k));
  PARLANCE_CHECK(validate_side("--cache-type-v", policy.v.format, layout.head_dim_v));
  for (const KvPolicy::Override& o : policy.layers) {
    if (o.layer >= layout.n_layer || o.layer < -layout.n_layer) {
      return fail(ErrorCode::invalid_argument,
                  "--cache-layers names layer {}, and the model has {} with a cache; give {} to {}", o.layer,
                  layout.n_layer, -layout.n_layer, layout.n_layer - 1);
    }
    PARLANCE_CHECK(validate_side("--cache-layers", o.k, layout.head_dim_k));
    PARLANCE_CHECK(validate_side("--cache-layers", o.v, layout.head_dim_v));
  }
  return {};
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
  auto views = cache->allocate_layers(device, static_cast<int64_t>(n_pages));
  if (!views) {
    return fail(ErrorCode::out_of_memory,
                "the KV cache of {} positions needs {:.1f} MiB ({}); lower --ctx-size or choose a smaller "
                "--cache-type-k/-v",
                n_ctx, static_cast<double>(*bytes) / (1 << 20), views.error().message);
  }
  cache->n_pages_ = static_cast<int>(n_pages);
  cache->max_pages_per_seq_ = cache->n_pages_;
  cache->host_table_.assign(n_pages * static_cast<size_t>(n_seq), 0);
  cache->held_.resize(static_cast<size_t>(n_seq));
  for (auto& held : cache->held_) held.reserve(n_pages);
  cache->free_.reserve(n_pages);
  for (int32_t page = cache->n_pages_ - 1; page >= 0; --page) cache->free_.push_back(page);
  PARLANCE_TRY(cache->table_, device.allocate(cache->host_table_.size() * sizeof(int32_t)));

  const Tensor page_table{.data = cache->table_->base(),
                          .buffer = cache->table_.get(),
                          .dtype = DType::i32,
                          .ne = {cache->max_pages_per_seq_, n_seq, 1, 1},
                          .name = {}};
  for (KvView& view : *views) view.page_table = page_table;
  cache->layers_ = KvLayers(page_table, *std::move(views));
  return cache;
}

// Layers share buffers as far as the device gives such large ones.
Result<std::vector<KvView>> KvCache::allocate_layers(Device& device, int64_t n_pages) {
  constexpr size_t kAlignment = 256;  // as Arena's
  std::vector<KvView> views;
  for (int64_t layer = 0; layer < layout_.n_layer; ++layer) {
    views.push_back(view_of(layout_, layout_.coding(layer), n_pages));
  }
  for (auto first = views.begin(); first != views.end();) {
    size_t bytes = 0;
    auto last = first;
    for (; last != views.end(); ++last) {
      const size_t more = align_up(last->layer_bytes, kAlignment);
      if (last != first && bytes + more > device.max_buffer_bytes()) break;
      bytes += more;
    }
    PARLANCE_TRY(auto buffer, device.allocate(bytes));
    std::byte* next = buffer->base();
    for (; first != last; ++first) {
      first->pages = next;
      first->buffer = buffer.get();
      next += align_up(first->layer_bytes, kAlignment);
    }
    pages_.push_back(std::move(buffer));
  }
  return views;
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
