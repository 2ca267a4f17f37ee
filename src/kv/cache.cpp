#include "kv/cache.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/checked.h"
#include "base/parameter.h"
#include "kernels/ops.h"

namespace parlance {

namespace {

constexpr size_t kMovesAtOnce = 64;

// The view of a layer, but for where its pages lie.
KvView view_of(const KvLayout& layout, const LayerCoding& coding, int32_t n_pages) {
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

// The bytes of one page of a layer.
Tensor page_tensor(const KvView& view, int32_t page) {
  Tensor tensor;
  tensor.dtype = DType::i8;
  tensor.ne = {static_cast<int64_t>(view.page_bytes), 1, 1, 1};
  tensor.buffer = view.buffer;
  tensor.data = view.pages + static_cast<size_t>(page) * view.page_bytes;
  return tensor;
}

// Zeros in place of the positions from n_tokens on, in the runs of all heads and both sides.
void clear_behind(const KvView& view, int64_t n_tokens, std::byte* page) {
  const auto clear = [&](size_t offset, size_t row_bytes) {
    std::memset(page + offset + static_cast<size_t>(n_tokens) * row_bytes, 0,
                static_cast<size_t>(view.page_tokens - n_tokens) * row_bytes);
  };
  for (int64_t head = 0; head < view.n_head_kv; ++head) {
    clear(view.k_offset(head), view.k_row_bytes);
    clear(view.v_offset(head), view.v_row_bytes);
  }
}

}  // namespace

Result<void> KvCache::Table::allocate(Device& device, int64_t n, int n_seq) {
  host.assign(static_cast<size_t>(n * n_seq), 0);
  PARLANCE_TRY(buffer, device.allocate(host.size() * sizeof(int32_t)));
  tensor = Tensor{.data = buffer->base(),
                  .buffer = buffer.get(),
                  .dtype = DType::i32,
                  .ne = {n, n_seq, 1, 1},
                  .name = {}};
  return {};
}

void KvCache::Table::set(size_t at, int32_t value) {
  changed = changed || host[at] != value;
  host[at] = value;
}

void KvCache::Table::upload(Stream& stream) {
  if (changed && buffer) stream.upload(tensor, std::as_bytes(std::span(host)));
  changed = false;
}

Result<std::unique_ptr<KvCache>> KvCache::create(Device& device, const KvLayout& layout, PageCounts n_pages,
                                                 int64_t n_ctx, int n_seq) {
  PARLANCE_CHECK(validate(layout));
  assert(n_ctx > 0 && n_seq > 0);
  std::unique_ptr<KvCache> cache(new KvCache);
  cache->layout_ = layout;
  const auto bytes = checked_mul(static_cast<size_t>(n_pages.main), layout.page_bytes(PageKind::main));
  const auto exact_bytes =
      checked_mul(static_cast<size_t>(n_pages.exact), layout.page_bytes(PageKind::exact));
  if (n_pages.main == INT32_MAX || !bytes || !exact_bytes) {
    return fail(ErrorCode::out_of_memory, "a cache of {} positions is beyond what can be addressed; lower {}",
                n_ctx, Parameter::ctx_size);
  }
  const auto too_large = [&](const Error& error) {
    return fail(ErrorCode::out_of_memory,
                "the KV cache of {} positions needs {:.1f} MiB ({}); lower {} or choose a smaller {} "
                "and {}",
                n_ctx, static_cast<double>(*bytes + *exact_bytes) / (1 << 20), error.message,
                Parameter::ctx_size, Parameter::cache_type_k, Parameter::cache_type_v);
  };
  auto views = cache->allocate_pages(device, PageKind::main, n_pages.main);
  if (!views) return too_large(views.error());
  const int64_t max_pages = div_up<int64_t>(n_ctx, layout.page_tokens);
  PARLANCE_CHECK(cache->page_table_.allocate(device, max_pages, n_seq));
  if (layout.policy.has_exact_pages()) {
    auto exact = cache->allocate_pages(device, PageKind::exact, n_pages.exact);
    if (!exact) return too_large(exact.error());
    cache->exact_views_ = *std::move(exact);
    PARLANCE_CHECK(cache->exact_table_.allocate(device, max_pages, n_seq));
    PARLANCE_CHECK(cache->main_pages_.allocate(device, 2, n_seq));
    PARLANCE_TRY(cache->moves_, device.allocate(2 * kMovesAtOnce * sizeof(int32_t)));
  }
  if (layout.policy.equaliser) {
    PARLANCE_CHECK(cache->equalise(device, *views));
    PARLANCE_CHECK(cache->equalise(device, cache->exact_views_));
  }
  for (size_t layer = 0; layer < views->size(); ++layer) {
    KvView& view = (*views)[layer];
    view.page_table = cache->page_table_.tensor;
    if (cache->exact_views_.empty()) continue;
    cache->exact_views_[layer].page_table = cache->exact_table_.tensor;
    view.main_pages = cache->main_pages_.tensor;
    view.exact = &cache->exact_views_[layer];
  }
  cache->layers_ = KvLayers(cache->page_table_.tensor, *std::move(views));
  return cache;
}

// Shift, scale and the scale's inverse of each layer.
Result<void> KvCache::equalise(Device& device, std::span<KvView> views) {
  const std::unique_ptr<Stream> stream = device.make_stream();
  for (size_t layer = 0; layer < views.size(); ++layer) {
    const KeyEqualiser& own = layout_.policy.equaliser->layers[layer];
    const size_t n = own.scale.size();
    assert(n == static_cast<size_t>(layout_.head_dim_k * layout_.n_head_kv) && own.shift.size() == n);
    PARLANCE_TRY(auto buffer, device.allocate(3 * n * sizeof(float)));
    std::vector<float> inverse(n);
    std::ranges::transform(own.scale, inverse.begin(), [](float scale) { return 1 / scale; });
    const auto tensor = [&](size_t which) {
      return Tensor{.data = buffer->base() + which * n * sizeof(float),
                    .buffer = buffer.get(),
                    .dtype = DType::f32,
                    .ne = {layout_.head_dim_k, layout_.n_head_kv, 1, 1},
                    .name = {}};
    };
    views[layer].k_shift = tensor(0);
    views[layer].k_scale = tensor(1);
    views[layer].q_scale = tensor(2);
    stream->upload(tensor(0), std::as_bytes(std::span(own.shift)));
    stream->upload(tensor(1), std::as_bytes(std::span(own.scale)));
    stream->upload(tensor(2), std::as_bytes(std::span(inverse)));
    equalisers_.push_back(std::move(buffer));
  }
  return stream->synchronize();
}

// Layers share buffers as far as the device gives such large ones.
Result<std::vector<KvView>> KvCache::allocate_pages(Device& device, PageKind kind, int32_t n_pages) {
  constexpr size_t kAlignment = 256;  // as Arena's
  std::vector<KvView> views;
  for (int64_t layer = 0; layer < layout_.n_layer; ++layer) {
    const LayerCoding coding = kind == PageKind::main ? layout_.coding(layer) : LayerCoding{};
    views.push_back(view_of(layout_, coding, n_pages));
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
    memory_.push_back(std::move(buffer));
  }
  return views;
}

const KvView& KvCache::view(PageKind kind, int64_t layer) const {
  return kind == PageKind::main ? layers_.layer(layer) : exact_views_[static_cast<size_t>(layer)];
}

void KvCache::set_pages(int seq, std::span<const PageRef> pages, int32_t main_first, int32_t main_end) {
  const auto row = static_cast<size_t>(seq) * static_cast<size_t>(page_table_.tensor.ne[0]);
  for (size_t i = 0; i < pages.size(); ++i) {
    page_table_.set(row + i, std::max(pages[i].main, 0));
    if (!exact_views_.empty()) exact_table_.set(row + i, std::max(pages[i].exact, 0));
  }
  if (exact_views_.empty()) return;
  main_pages_.set(2 * static_cast<size_t>(seq), main_first);
  main_pages_.set(2 * static_cast<size_t>(seq) + 1, main_end);
}

const KvLayers& KvCache::layers(Stream& stream) {
  page_table_.upload(stream);
  exact_table_.upload(stream);
  main_pages_.upload(stream);
  return layers_;
}

// Pages are taken in groups that fill kTakenAtOnce, a stretch of one layer after the other.
void KvCache::take_memory_ahead(Stream& stream, PageKind kind, PagePool::Range pages, int64_t n_tokens) {
  const int64_t n_layer = layout_.n_layer;
  if (n_layer == 0 || pages.end <= pages.first) return;
  size_t largest = 1;
  for (int64_t layer = 0; layer < n_layer; ++layer) largest = std::max(largest, view(kind, layer).page_bytes);
  const auto group = static_cast<int64_t>(div_up(kTakenAtOnce, largest));
  const auto n_pages = static_cast<int64_t>(view(kind, 0).layer_bytes / view(kind, 0).page_bytes);
  const int64_t n_end = div_up<int64_t>(pages.end, group) * n_layer;
  int64_t& n_taken = n_taken_[static_cast<size_t>(kind)];
  n_taken = std::max(n_taken, pages.first / group * n_layer);
  // Half as much again as is used up, so that it is there in time; something for each thread.
  const int64_t n_threads = stream.device().n_threads();
  const int64_t n_wanted = div_up(3 * n_tokens * n_layer, 2 * group * layout_.page_tokens);
  const int64_t n = std::min(align_up(n_wanted, n_threads), n_end - n_taken);
  std::vector<std::span<std::byte>> stretches;
  for (int64_t i = 0; i < n; ++i, ++n_taken) {
    const KvView& v = view(kind, n_taken % n_layer);
    const int64_t from = std::max<int64_t>(n_taken / n_layer * group, pages.first);
    const int64_t to = std::min((n_taken / n_layer + 1) * group, n_pages);
    stretches.emplace_back(v.pages + static_cast<size_t>(from) * v.page_bytes,
                           static_cast<size_t>(to - from) * v.page_bytes);
  }
  stream.take_memory(stretches);
}

void KvCache::copy_page(Stream& stream, const PageCopy& copy) {
  for (int64_t layer = 0; layer < layout_.n_layer; ++layer) {
    const KvView& v = view(copy.kind, layer);
    stream.copy(page_tensor(v, copy.to), page_tensor(v, copy.from));
  }
}

Tensor KvCache::move_list(size_t n_moves) const {
  return {.data = moves_->base(),
          .buffer = moves_.get(),
          .dtype = DType::i32,
          .ne = {2, static_cast<int64_t>(n_moves), 1, 1},
          .name = {}};
}

void KvCache::compress(Stream& stream, std::span<const Move> moves) {
  while (!moves.empty()) {
    const auto some = moves.first(std::min(moves.size(), kMovesAtOnce));
    const Tensor list = move_list(some.size());
    stream.upload(list, std::as_bytes(some));
    stream.step(Stream::kOnce, [&] {
      for (int64_t layer = 0; layer < layout_.n_layer; ++layer)
        kv_compress(stream, layers_.layer(layer), list);
    });
    moves = moves.subspan(some.size());
  }
}

void KvCache::plan_compress(Stream& stream) {
  for (int64_t layer = 0; layer < layout_.n_layer; ++layer) {
    kv_compress(stream, layers_.layer(layer), move_list(kMovesAtOnce));
  }
}

Result<void> KvCache::save_page(Stream& stream, PageKind kind, int32_t page, int64_t n_tokens,
                                std::span<std::byte> bytes) {
  for (int64_t layer = 0; layer < layout_.n_layer; ++layer) {
    const KvView& v = view(kind, layer);
    PARLANCE_CHECK(stream.download(bytes.first(v.page_bytes), page_tensor(v, page)));
    clear_behind(v, n_tokens, bytes.data());
    bytes = bytes.subspan(v.page_bytes);
  }
  return {};
}

void KvCache::restore_page(Stream& stream, PageKind kind, int32_t page, std::span<const std::byte> bytes) {
  for (int64_t layer = 0; layer < layout_.n_layer; ++layer) {
    const KvView& v = view(kind, layer);
    stream.upload(page_tensor(v, page), bytes.first(v.page_bytes));
    bytes = bytes.subspan(v.page_bytes);
  }
}

}  // namespace parlance
