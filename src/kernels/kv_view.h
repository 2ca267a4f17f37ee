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

  KvCoding k = {}, v = {};
  // A sequence may begin and end in f16: pages of its positions before the first of main_pages[s], and from
  // the second on, are those of `exact`, whose table counts as this one does. New positions are written
  // there; kv_compress() brings them here. Null: there are no such pages.
  const KvView* exact = nullptr;
  Tensor main_pages;  // i32 [2, n_seq]
  int64_t n_head_kv = 0;
  int64_t head_dim_k = 0;
  int64_t head_dim_v = 0;
  // Where keys are equalised (kv/equaliser.h), f32 [head_dim_k, n_head_kv] each, else absent: what is stored
  // is (key - k_shift) * k_scale, and queries are multiplied by q_scale, the scale's inverse. By
  // norm_rope_write(), where the device knows of it (OpTable::equalises_kv).
  Tensor k_shift, k_scale, q_scale;
  size_t k_row_bytes = 0;  // of one head vector
  size_t v_row_bytes = 0;

  // Offset in a page of the first row of a head.
  size_t k_offset(int64_t head) const { return static_cast<size_t>(head * page_tokens) * k_row_bytes; }
  size_t v_offset(int64_t head) const {
    return static_cast<size_t>(n_head_kv * page_tokens) * k_row_bytes +
           static_cast<size_t>(head * page_tokens) * v_row_bytes;
  }
};

// The layers of a cache: views that share a page table, and differ in where their pages lie and how they are
// coded.
class KvLayers {
 public:
  KvLayers() = default;
  KvLayers(Tensor page_table, std::vector<KvView> views)
      : page_table_(page_table), views_(std::move(views)) {}

  const KvView& layer(int64_t i) const { return views_[static_cast<size_t>(i)]; }
  const Tensor& page_table() const { return page_table_; }

 private:
  Tensor page_table_;
  std::vector<KvView> views_;
};

}  // namespace parlance
