// What the attention kernels share: their arguments on the GPU, and how a pass over many keys is split among
// blocks and put together again.
#pragma once

#include <vector_types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/op_table.h"

namespace parlance::cuda::attention {

// Heads and tokens that one block works on together, sharing what it reads of one KV head.
struct Tiling {
  int heads;    // query heads of a tile (the last of a group may have fewer)
  int parts;    // tiles that the heads of a group make
  int tokens;   // consecutive tokens of a tile
  int n_tiles;  // along the tokens
};

// Partial results of a split pass: weighted values, and (largest score, sum of weights), sum 0 for nothing
// seen.
struct Partials {
  float* out;     // (head_dim_v, n_splits, n_head, n_tokens)
  float2* stats;  // (n_splits, n_head, n_tokens)
};

// AttentionArgs as kernels take them.
struct Params {
  const float* q;             // (head_dim_k, n_head, n_tokens)
  float* out;                 // (head_dim_v, n_head, n_tokens)
  const std::byte* pages;     // of the layer
  const int32_t* page_table;  // (max_pages, n_seq)
  const int32_t* seq;
  const int32_t* pos;
  int64_t max_pages;
  int64_t page_bytes;
  int64_t v_start;  // in a page, of the values
  int page_tokens;
  int k_row_bytes;
  int v_row_bytes;
  int head_dim_k;
  int head_dim_v;
  int n_head;
  int group;  // query heads of a KV head
  int n_tokens;
  float scale;  // of scores in units of log 2, for exp2f
  Tiling tiling;
  int n_splits;  // 1: results go to `out`, not to `partials`
  Partials partials;
};

// Every kernel has a grid of (token tiles, n_head_kv * parts, n_splits).
using Run = void (*)(Stream& stream, const Params& params, const AttentionArgs& args);

void run_plain(Stream& stream, const Params& params, const AttentionArgs& args);
void run_decode(Stream& stream, const Params& params, const AttentionArgs& args);
void run_prefill(Stream& stream, const Params& params, const AttentionArgs& args);

// Whether the kernel has code for these formats, head sizes and this memory layout; otherwise run_plain() is
// taken.
bool decode_serves(const AttentionArgs& args);
bool prefill_serves(const AttentionArgs& args);

// Whether a head vector has 64 or 128 elements, and loads of 16 bytes find rows at multiples of 16 (those of
// q8_0 at multiples of 4).
inline bool has_wide_rows(const KvView& kv) {
  const auto is_aligned = [](size_t offset) { return offset % 16 == 0; };
  return kv.head_dim_k == kv.head_dim_v && (kv.head_dim_k == 64 || kv.head_dim_k == 128) &&
         is_aligned(reinterpret_cast<uintptr_t>(kv.pages)) && is_aligned(kv.page_bytes) &&
         is_aligned(kv.v_offset(0));
}

// Rows of (token, query head) of a tile.
inline constexpr int kPlainRows = 16;
inline constexpr int kDecodeHeads = 8;
inline constexpr int kPrefillRows = 64;
inline constexpr int kMaxSplits = 64;

// Puts the partial results of all splits together.
void run_merge(Stream& stream, const Params& params);

}  // namespace parlance::cuda::attention
