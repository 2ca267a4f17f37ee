// A paged cache for kernel tests: sequences of given lengths whose pages lie in no particular order.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/checked.h"
#include "kernels/support/devices.h"

namespace parlance::test {

struct KvShape {
  KvCoding k = {}, v = {};
  int64_t n_head_kv = 2;
  int64_t head_dim_k = 64;
  int64_t head_dim_v = 64;
  int32_t page_tokens = 16;
  int64_t n_layer = 2;
};

// All of a shape, in words.
inline std::string to_text(const KvShape& shape) {
  const auto side = [](const KvCoding& coding, int64_t head_dim) {
    return fmt::format("{}{}{}{} [{}]", name_of(coding.format), coding.rotated ? " rotated" : "",
                       coding.least_squares ? "" : " unbiased",
                       coding.encoder == KvEncoder::search ? " searched" : "", head_dim);
  };
  return fmt::format("k {}, v {}, {} heads, pages of {}, {} layers", side(shape.k, shape.head_dim_k),
                     side(shape.v, shape.head_dim_v), shape.n_head_kv, shape.page_tokens, shape.n_layer);
}

// What attention may be off by, for values near 1 and queries up to a limit. AVX-512 meets caches in fewer
// bits than f32 with integers, which are off by less than f16 is, 2.4e-4; CUDA rounds queries and weights to
// f16 where a sequence has more rows than a draft, and where it unpacks q8_0.
inline float attention_rounding(const KvShape& shape, const DeviceCase& device, int64_t n_tokens = 1,
                                float q_limit = 1) {
  constexpr int64_t kMostDraftRows = 32;
  const bool is_f32 = shape.k.format == KvFormat::f32 && shape.v.format == KvFormat::f32;
  const bool is_f16 = shape.k.format == KvFormat::f16 && shape.v.format == KvFormat::f16;
  const auto is_unpacked = [&](KvFormat k, KvFormat v) {
    const bool has_size = shape.head_dim_k == 64 || shape.head_dim_k == 128;
    return k == KvFormat::q8_0 && (v == KvFormat::q8_0 || v == KvFormat::f16) && has_size &&
           shape.head_dim_k == shape.head_dim_v;
  };
  const bool is_q8_0 =
      is_unpacked(shape.k.format, shape.v.format) || is_unpacked(shape.v.format, shape.k.format);
  if (device.name.starts_with("cuda") && ((is_f16 && n_tokens > kMostDraftRows) || is_q8_0))
    return (is_q8_0 ? 1e-3f : 5e-4f) * std::max(1.0f, q_limit);
  return !is_f32 && device.name.starts_with("cpu_avx512") ? 1e-4f : 1e-5f;
}

// Which sequence and position each token of a batch belongs to.
struct TokenPlaces {
  std::vector<int32_t> seq;
  std::vector<int32_t> pos;

  int64_t size() const { return static_cast<int64_t>(pos.size()); }
  TokenPlaces& add(int32_t s, int32_t first, int32_t n) {
    for (int32_t i = 0; i < n; ++i) {
      seq.push_back(s);
      pos.push_back(first + i);
    }
    return *this;
  }
  // Rows of the sequence that has most.
  int64_t most_rows() const {
    std::map<int32_t, int64_t> rows;
    int64_t most = 0;
    for (const int32_t s : seq) most = std::max(most, ++rows[s]);
    return most;
  }
  BatchView on(OpBench& bench) const {
    const int64_t bound = pos.empty() ? 1 : *std::max_element(pos.begin(), pos.end()) + int64_t{1};
    return {.seq = bench.upload(seq), .pos = bench.upload(pos), .n_kv_bound = bound};
  }
};

class KvPages {
 public:
  KvPages(const KvShape& shape, const std::vector<int32_t>& lengths, std::mt19937& random) : shape_(shape) {
    for (size_t s = 0; s < lengths.size(); ++s) {
      max_pages_ = std::max(max_pages_, div_up<int64_t>(lengths[s], shape.page_tokens));
      n_pages_ += div_up<int64_t>(lengths[s], shape.page_tokens);
      places_.add(static_cast<int32_t>(s), 0, lengths[s]);
    }
    std::vector<int32_t> order(static_cast<size_t>(n_pages_));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    table_.assign(static_cast<size_t>(max_pages_) * lengths.size(), -1);
    auto next = order.begin();
    for (size_t s = 0; s < lengths.size(); ++s) {
      const auto held = static_cast<size_t>(div_up<int64_t>(lengths[s], shape.page_tokens));
      std::copy_n(next, held, table_.begin() + static_cast<std::ptrdiff_t>(s) * max_pages_);
      next += static_cast<std::ptrdiff_t>(held);
    }
  }

  // All positions of all sequences.
  const TokenPlaces& places() const { return places_; }

  size_t bytes() const { return static_cast<size_t>(shape_.n_layer) * view().layer_bytes; }

  // NaN in every format: whoever reads what was never written shows it.
  std::vector<std::byte> unwritten() const { return std::vector<std::byte>(bytes(), std::byte{0xff}); }

  KvLayers on(OpBench& bench, std::span<const std::byte> contents) const {
    KvView kv = view();
    const Tensor pages = bench.upload(DType::i8, {static_cast<int64_t>(contents.size()), 1, 1, 1}, contents);
    kv.page_table = bench.upload(table_);
    kv.page_table.ne = {max_pages_, static_cast<int64_t>(table_.size()) / std::max<int64_t>(max_pages_, 1), 1,
                        1};
    kv.buffer = pages.buffer;
    std::vector<KvView> views;
    for (int64_t layer = 0; layer < shape_.n_layer; ++layer) {
      kv.pages = pages.data + static_cast<size_t>(layer) * kv.layer_bytes;
      views.push_back(kv);
    }
    return {kv.page_table, views};
  }

  // Of all layers.
  static std::vector<std::byte> contents(OpBench& bench, const KvLayers& layers) {
    const KvView kv = layers.layer(0);
    Tensor pages;
    pages.dtype = DType::i8;
    pages.data = kv.pages;
    pages.buffer = kv.buffer;
    pages.ne = {static_cast<int64_t>(kv.buffer->size()), 1, 1, 1};
    return bench.download_bytes(pages);
  }

 private:
  KvView view() const {
    KvView kv;
    kv.page_tokens = shape_.page_tokens;
    kv.k = shape_.k;
    kv.v = shape_.v;
    kv.n_head_kv = shape_.n_head_kv;
    kv.head_dim_k = shape_.head_dim_k;
    kv.head_dim_v = shape_.head_dim_v;
    kv.k_row_bytes = kv_row_bytes(shape_.k.format, shape_.head_dim_k);
    kv.v_row_bytes = kv_row_bytes(shape_.v.format, shape_.head_dim_v);
    kv.page_bytes =
        static_cast<size_t>(shape_.n_head_kv * shape_.page_tokens) * (kv.k_row_bytes + kv.v_row_bytes);
    kv.layer_bytes = kv.page_bytes * static_cast<size_t>(n_pages_);
    return kv;
  }

  KvShape shape_;
  int64_t n_pages_ = 0;
  int64_t max_pages_ = 0;
  std::vector<int32_t> table_;
  TokenPlaces places_;
};

}  // namespace parlance::test
