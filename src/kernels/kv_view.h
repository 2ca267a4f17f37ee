// What a kernel knows of a KV cache: pages of one buffer, and a table that says which pages hold which positions
// of which sequence. Nothing of eviction, sharing or reference counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/kv_format.h"
#include "tensor/tensor.h"

namespace parlance {

// Position p of sequence s lies in page page_table[s][p / page_tokens], at slot p % page_tokens. All pages of one
// layer lie together, so that what a kernel reads is one range of memory (devices limit how far a range goes).
// Inside a page, each (side, head) is one contiguous run of page_tokens rows, so that a kernel walks one head's
// keys in order of position ("head-major").
struct KvView {
  std::byte* pages = nullptr;  // page i of layer l starts at pages + l * layer_bytes + i * page_bytes
  Buffer* buffer = nullptr;
  size_t page_bytes = 0;   // of one layer: keys of all heads, then values of all heads
  size_t layer_bytes = 0;  // all pages of one layer
  int32_t page_tokens = 0;
  Tensor page_table;  // i32 [max_pages, n_seq]

  KvFormat k_format = KvFormat::f16;
  KvFormat v_format = KvFormat::f16;
  int64_t n_head_kv = 0;
  int64_t head_dim_k = 0;
  int64_t head_dim_v = 0;
  size_t k_row_bytes = 0;  // of one head vector
  size_t v_row_bytes = 0;

  // Offset, from the start of a page of layer 0, of the first row of a head.
  size_t k_offset(int64_t layer, int64_t head) const {
    return static_cast<size_t>(layer) * layer_bytes + static_cast<size_t>(head) * page_tokens * k_row_bytes;
  }
  size_t v_offset(int64_t layer, int64_t head) const {
    return static_cast<size_t>(layer) * layer_bytes + static_cast<size_t>(n_head_kv) * page_tokens * k_row_bytes +
           static_cast<size_t>(head) * page_tokens * v_row_bytes;
  }
};

}  // namespace parlance
