// Argument blocks of operations on packed rows: head vectors in a cache's formats, outside of its pages. No
// model uses them; `parlance verify` compares them with recorded numbers.
#pragma once

#include <cstdint>

#include "quant/kv_format.h"
#include "tensor/tensor.h"

namespace parlance {

// Those of a KV head follow each other. Sketches are read
// without bias.
struct PackedRows {
  Tensor bytes;  // i8 [kv_row_bytes(format, head_dim), n_rows, n_head_kv, n_seq]
  KvFormat format = {};
  int64_t head_dim = 0;
};

// Queries of packed rows. Head h of n_head reads KV head h / (n_head / n_head_kv).
struct PackedQuery {
  Tensor q = {};            // f32 [n, n_head, n_batch, n_seq]
  bool is_stored = false;   // n = stored_elements(): transformed by the caller; else n = head_dim
  bool is_rounded = false;  // to bytes, each sketch by itself (quant/sketch_int8.h)
  float factor = 1;         // of q . k
};

struct PackedGetRowsArgs {
  PackedRows table;  // of one KV head and sequence
  Tensor rows;       // i32 [n_out]
  Tensor out;        // f32 [head_dim, n_out]
};

struct PackedScoresArgs {
  PackedQuery query;
  PackedRows k;
  Tensor out;  // f32 [n_rows, n_head, n_batch, n_seq]: factor q . k, neither masked nor scaled otherwise
};

// softmax(scale factor q k^T) v. A row of zeros where a query sees nothing, or its largest score is not
// finite.
struct PackedAttentionArgs {
  PackedQuery query;
  PackedRows k, v;  // as many rows
  float scale = 1;
  bool is_causal = false;  // query i of n_batch sees rows 0 .. q_pos_base + i; else all
  int64_t q_pos_base = 0;
  Tensor out;  // f32 [head_dim of v, n_head, n_batch, n_seq]
};

}  // namespace parlance
