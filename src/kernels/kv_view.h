// What a kernel knows of a KV cache: the pages of one layer, and a table that says which pages hold which
// positions of which sequence. Nothing of eviction, sharing or reference counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "quant/kv_format.h"
#include "tensor/tensor.h"

namespace parlance {

// Position p of sequence s lies in page page_table[s][p / page_tokens], at slot p % page_tokens. The pages of
// a layer are one range of memory, since devices limit how far a kernel sees. Inside a page, each (side,
// head) is one contiguous run of page_tokens rows, so that a kernel walks one head's keys in order of
// position ("head-major").
struct KvView {
  std::byte* pages = nullptr;  // page i starts at pages + i * page_bytes
  Buffer* buffer = nullptr;
  size_t page_bytes = 0;   // keys of all heads, then values of all heads
  size_t layer_bytes = 0;  // all pages
  int32_t page_tokens = 0;
  Tensor page_table;  // i32 [max_pages, n_seq]

  KvFormat k_format = KvFormat::f16;
  KvFormat v_format = KvFormat::f16;
  int64_t n_head_kv = 0;
  int64_t head_dim_k = 0;
  int64_t head_dim_v = 0;
  size_t k_row_bytes = 0;  // of one head vector
  size_t v_row_bytes = 0;

  // Offset in a page of the first row of a head.
  size_t k_offset(int64_t head) const { return static_cast<size_t>(head * page_tokens) * k_row_bytes; }
  size_t v_offset(int64_t head) const {
    return static_cast<size_t>(n_head_kv * page_tokens) * k_row_bytes +
           static_cast<size_t>(head * page_tokens) * v_row_bytes;
  }
};

// The layers of a cache: the same view of each, but for where its pages lie.
class KvLayers {
 public:
  struct Place {
    std::byte* pages;
    Buffer* buffer;
  };

  KvLayers() = default;
  KvLayers(KvView common, std::vector<Place> places) : common_(common), places_(std::move(places)) {}

  KvView layer(int64_t i) const {
    KvView view = common_;
    view.pages = places_[static_cast<size_t>(i)].pages;
    view.buffer = places_[static_cast<size_t>(i)].buffer;
    return view;
  }
  const Tensor& page_table() const { return common_.page_table; }

 private:
  KvView common_;
  std::vector<Place> places_;
};

}  // namespace parlance
