// What a kernel knows of a KV cache: pages of one buffer, and a table that says which pages hold which positions
// of which sequence. Nothing of eviction, sharing or reference counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/kv_format.h"
#include "tensor/tensor.h"

namespace parlance {

// Position p of sequence s lies in page page_table[s][p / page_tokens], at slot p % page_tokens. Inside a page,
// each (layer, side, head) is one contiguous run of page_tokens rows, so that a kernel walks one head's keys
// in order of position ("head-major").
struct KvView {
  std::byte* pages = nullptr;  // page i starts at pages + i * page_bytes
  Buffer* buffer = nullptr;
  size_t page_bytes = 0;
  int32_t page_tokens = 0;
  Tensor page_table;  // i32 [max_pages, n_seq]

  KvFormat k_format = KvFormat::f16;
  KvFormat v_format = KvFormat::f16;
  int64_t n_head_kv = 0;
  int64_t head_dim_k = 0;
  int64_t head_dim_v = 0;
  size_t k_row_bytes = 0;  // of one head vector
  size_t v_row_bytes = 0;
  size_t layer_bytes = 0;  // of one layer in a page: keys of all heads, then values of all heads

  // Offset in a page of the first row of a head.
  size_t k_offset(int64_t layer, int64_t head) const {
    return static_cast<size_t>(layer) * layer_bytes + static_cast<size_t>(head) * page_tokens * k_row_bytes;
  }
  size_t v_offset(int64_t layer, int64_t head) const {
    return static_cast<size_t>(layer) * layer_bytes + static_cast<size_t>(n_head_kv) * page_tokens * k_row_bytes +
           static_cast<size_t>(head) * page_tokens * v_row_bytes;
  }
};

}  // namespace parlance
