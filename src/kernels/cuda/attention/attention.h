// What the attention kernels share: their arguments on the GPU, and how a row's keys are cut into segments. A
// segment is summed up by itself, and segments are put together in their order (fold.cuh), by one block or by
// several and a pass behind them: the sums are the same. Where a row is cut follows from its position and
// from how many rows its own sequence has in the batch, so that no bit of it depends on the other sequences
// there.
#pragma once

#include <vector_types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/op_table.h"

namespace parlance::cuda {
struct Gpu;
}

namespace parlance::cuda::attention {

// Heads and tokens that one block works on together, sharing what it reads of one KV head.
struct Tiling {
  int heads;    // query heads of a tile (the last of a group may have fewer)
  int parts;    // tiles that the heads of a group make
  int tokens;   // consecutive tokens of a tile
  int n_tiles;  // along the tokens
};

// Segments that blocks have left: weighted values, and (largest score, sum of weights).
struct Partials {
  float* out;        // (head_dim_v, max_segments, n_head, n_split_tokens)
  float2* stats;     // (max_segments, n_head, n_split_tokens)
  int max_segments;  // of a row
};

// Rows of one sequence in a batch that are answers, or drafts of them, and those from which on the batch has
// so many tiles of a prompt that its rows are not cut.
inline constexpr int kMostDecodeRows = 32;
inline constexpr int kManyRows = 128;
inline constexpr int kMostDecodeSegments = 64, kMostPrefillSegments = 8;

// The most that an answer's row is cut into: two blocks for each multiprocessor of a large GPU.
inline int most_segments_of(int64_t n_head_kv) {
  constexpr int64_t kBlocks = 2 * 132, kLeast = 16;
  return static_cast<int>(std::clamp<int64_t>(kBlocks / n_head_kv, kLeast, kMostDecodeSegments));
}

// The least power of two that is no less than n.
__host__ __device__ inline int power_of_two_from(int n) {
  if (n <= 1) return 1;
#ifdef __CUDA_ARCH__
  return 1 << (32 - __clz(n - 1));
#else
  return 1 << (32 - __builtin_clz(static_cast<unsigned>(n - 1)));
#endif
}

// Keys of a segment of a row that sees n_keys, where n_rows are of its sequence. From many_rows on these make
// so many tiles that their keys are not cut. An answer's few keys are one segment, since putting two together
// takes longer than their keys do; it grows by powers of two, so that most of a draft's rows are cut alike.
inline constexpr int kAllKeys = 1 << 30, kUncutKeys = 256;
__host__ __device__ inline int segment_keys(int n_rows, int n_keys, int many_rows, int most_segments) {
  if (n_rows >= many_rows) return kAllKeys;
  if (n_rows > kMostDecodeRows) {
    const int part = power_of_two_from(n_keys) / kMostPrefillSegments;
    return part < 256 ? 256 : part;
  }
  if (n_keys <= kUncutKeys) return n_keys <= 64 ? 64 : power_of_two_from(n_keys);
  if (n_keys <= 2048) return n_keys <= 512 ? 64 : 128;
  const int part = ((n_keys + most_segments - 1) / most_segments + 63) / 64 * 64;
  return part < 256 ? 256 : part;
}

// Tokens' heads as norm_rope_write() takes them, for a kernel that does its work, too; q is not normed either
// then. Of answers: no token sees what another one writes.
struct Preparation {
  const float *k, *v;            // (kPreparedDim, n_head_kv, n_tokens); null: it is done
  const float *q_norm, *k_norm;  // (kPreparedDim), or null
  const float* angles;           // (kPreparedDim / 2, 2, n_tokens)
  float eps;
  bool is_k_searched, is_v_searched;         // by KvEncoder::search
  const float *k_shift, *k_scale, *q_scale;  // see KvView: (kPreparedDim, n_head_kv), or null
  // The kernel takes what it has summed up back through this transform itself, and `out` is finished.
  bool is_joined;
  KvTransform of_values;
};
inline constexpr int kPreparedDim = 128;

// AttentionArgs as kernels take them.
struct Params {
  const float* q;  // (head_dim_k, n_head, n_tokens)
  // Through which q becomes what meets stored keys; none: it is that already. Only run_decode_packed() and
  // run_decode_joined() know of others.
  KvTransform k_transform;
  float* out;                 // (head_dim_v, n_head, n_tokens)
  const std::byte* pages;     // of the layer
  const int32_t* page_table;  // (max_pages, n_seq)
  const int32_t* seq;
  const int32_t* pos;
  const int32_t* first;  // the first position that a token sees; null: 0. Only run_plain() knows of it
  // Of a sequence that has pages of two kinds, a kernel's keys are those of one: see KvView::main_pages,
  // (2, n_seq), and walk.cuh. Null: all keys are.
  const int32_t* main_pages;
  bool is_exact;  // those in exact pages
  KvFormat k_format, v_format;
  int64_t max_pages;
  int64_t page_bytes;
  int64_t v_start;  // in a page, of the values
  int page_tokens;
  int k_row_bytes;
  int v_row_bytes;
  int head_dim_k;
  int head_dim_v;
  int n_head, n_head_kv;
  int group;  // query heads of a KV head
  int n_tokens;
  float scale;  // of scores in units of log 2, for exp2f
  // (n_head, n_tokens): the largest score and the sum of weights, where `out` is left as the sum of weighted
  // values, since other keys are to join it. Null: `out` is finished. Rows that have no keys are left alone.
  float2* stats;
  Tiling tiling;
  bool is_decode;                // every row counts as an answer's
  bool are_alone;                // every row does, or is its sequence's only one in the batch
  int many_rows, most_segments;  // see segment_keys()
  int least_rows, most_rows;     // of a sequence whose tokens the kernel serves; it leaves others alone
  int n_splits;                  // blocks that share the segments of a row
  int n_split_tokens;            // only those of the batch's first tokens are shared
  Partials partials;
  Preparation preparation;  // only run_decode_halves() and run_decode_packed() know of it
};

// Every kernel has a grid of (blocks_of_tiles(), n_head_kv * parts).
__host__ __device__ inline int split_tiles(const Params& p) {
  return (p.n_split_tokens + p.tiling.tokens - 1) / p.tiling.tokens;
}
__host__ __device__ inline int blocks_of_tiles(const Params& p) {
  return p.tiling.n_tiles + split_tiles(p) * (p.n_splits - 1);
}

using Run = void (*)(Stream& stream, const Params& params, const AttentionArgs& args);

void run_plain(Stream& stream, const Params& params, const AttentionArgs& args);
void run_decode(Stream& stream, const Params& params, const AttentionArgs& args);
void run_decode_halves(Stream& stream, const Params& params, const AttentionArgs& args);
void run_draft_halves(Stream& stream, const Params& params, const AttentionArgs& args);
void run_decode_packed(Stream& stream, const Params& params, const AttentionArgs& args);
// Main and exact pages in one go, for as many rows of a tile.
void run_decode_joined(Stream& stream, const Params& main, const Params& exact, const AttentionArgs& args,
                       const KvView& exact_kv);
void run_prefill(Stream& stream, const Params& params, const AttentionArgs& args);
void run_prefill_packed(Stream& stream, const Params& params, const AttentionArgs& args);
void run_prefill_wide(Stream& stream, const Params& params, const AttentionArgs& args);

// Whether the kernel has code for these formats, head sizes and this memory layout; otherwise run_plain() is
// taken.
bool decode_serves(const AttentionArgs& args);
bool decode_halves_serves(const AttentionArgs& args, int n_rows,  // of a tile
                          size_t room);                           // bytes of shared memory of a block
bool decode_halves_prepares(const AttentionArgs& args, int n_rows, size_t room);  // what it serves
bool draft_halves_serves(const AttentionArgs& args, size_t room);
bool prefill_serves(const AttentionArgs& args);
// The same for keys and values that are unpacked on their way.
bool decode_packed_serves(const AttentionArgs& args, int n_rows, size_t room);
bool decode_packed_prepares(const AttentionArgs& args, int n_rows, size_t room);  // what it serves
bool prefill_packed_serves(const AttentionArgs& args);
bool prefill_wide_serves(const AttentionArgs& args, const Gpu& gpu);  // of what the two above do

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
inline constexpr int kDecodeHeads = 8;  // of one token
inline constexpr int kDraftRows = 32, kMostDraftRows = 64, kMostDraftTokens = 16;
inline constexpr int kPrefillRows = 64, kWidePrefillRows = 128;

// The most that many_rows may be: what rows_of_sequence() counts.
inline constexpr int kMostCountedRows = 1024;

// Puts the segments of the rows together that several blocks have shared.
void run_merge(Stream& stream, const Params& params);

// What stands between head vectors and stored values.
struct QueryTransform {
  KvTransform transform;
  const float* sketch;  // the matrix, if it is one
};

// out (stored elements, n_head, n_tokens): queries as they meet stored keys.
void run_transform_queries(Stream& stream, const QueryTransform& transform, const float* q, float* out,
                           int head_dim, int64_t n_rows);

// What one kind of pages has yielded.
struct Sums {
  const float* values;  // (stored elements, n_head, n_tokens)
  const float2* stats;  // see Params::stats; null: there are no such pages
};

// The results of main pages, in the domain of stored values, and of exact ones.
void run_join(Stream& stream, const Params& params, const Sums& main, const QueryTransform& of_values,
              const Sums& exact);

// run_merge() of both kinds of pages, then run_join(), for heads of kMostJoinedValues at most; values are
// transformed by one that is no sketch. `exact` has no page table where there are no such pages.
inline constexpr int kMostJoinedValues = 128;
void run_merge_and_join(Stream& stream, const Params& main, const Params& exact, KvTransform of_values,
                        float* out);

}  // namespace parlance::cuda::attention
