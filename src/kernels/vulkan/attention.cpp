// attention on Vulkan: attention.comp for tiles of query rows, and for few tokens and long contexts for
// several parts of the positions, which attention_merge.comp then puts together.
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/kv_layer.h"

namespace parlance::vulkan {

namespace {

constexpr uint32_t kLanes = 128;    // positions that a workgroup takes at once
constexpr uint32_t kMostRows = 16;  // of a tile
constexpr int64_t kMostParts = 32;  // of the positions of a row, as in attention.comp

struct Push {  // as in attention.comp
  uint32_t kv_at;
  uint32_t page_bytes;
  uint32_t page_tokens;
  uint32_t k_row_bytes;
  uint32_t v_row_bytes;
  uint32_t page_table_at;
  uint32_t max_pages;
  uint32_t seq_at;
  uint32_t pos_at;
  uint32_t q_at;
  uint32_t out_at;
  uint32_t softmax_at;
  uint32_t head_dim_k;
  uint32_t head_dim_v;
  uint32_t n_head;
  uint32_t n_head_kv;
  uint32_t n_tokens;
  uint32_t n_parts;
  uint32_t has_first;
  uint32_t first_at;
  float scale;
};

struct MergePush {
  uint32_t parts_at;
  uint32_t softmax_at;
  uint32_t out_at;
  uint32_t head_dim_v;
  uint32_t n_vectors;
  uint32_t n_parts;
};

// Sizes of heads as constants of the shader. Where it checks each dimension anyway, similar sizes share one.
uint32_t k_pieces(const KvView& kv, bool whole_quads) {
  const int64_t head_dim = whole_quads ? kv.head_dim_k : align_up<int64_t>(kv.head_dim_k, 32);
  return static_cast<uint32_t>(div_up<int64_t>(head_dim, 16));
}

uint32_t v_pairs(const KvView& kv, bool whole_quads) {
  const int64_t head_dim = whole_quads ? kv.head_dim_v : align_up<int64_t>(kv.head_dim_v, 32);
  return static_cast<uint32_t>(div_up<int64_t>(head_dim, 2));
}

// Bytes of shared memory of attention.comp.
size_t shared_bytes(uint32_t n_rows, uint32_t pieces) {
  return sizeof(float) * (size_t{n_rows} * (pieces * 16 + kLanes + kLanes / 4 + 4) + kLanes);
}

// Rows of a tile.
uint32_t tile_rows(uint32_t rows_of_head, uint32_t pieces, const DeviceLimits& limits) {
  // Drivers on the CPU take long to compile the shader for large tiles.
  uint32_t n_rows = rows_of_head <= 4 || limits.is_software ? 4 : rows_of_head <= 8 ? 8 : kMostRows;
  while (n_rows > 4 && shared_bytes(n_rows, pieces) > limits.shared_bytes) n_rows /= 2;
  return n_rows;
}

// Parts of the positions of any row up to the bound: answers and small pieces of prompts have several.
int64_t most_parts(const AttentionArgs& args) {
  return std::min(div_up<int64_t>(args.batch.n_kv_bound, kLanes), kMostParts);
}

// Tokens that are taken at once, when their positions are cut.
int64_t cut_tokens(const AttentionArgs& args) {
  return std::min(args.q.ne[2], kMostAlikeRows);
}

size_t scratch_bytes(const AttentionArgs& args, int) {
  const int64_t n_vectors = args.q.ne[1] * cut_tokens(args) * most_parts(args);
  return static_cast<size_t>(n_vectors * (args.kv.head_dim_v + 2)) * sizeof(float);
}

void merge(Stream& s, const AttentionArgs& args, uint32_t n_vectors, uint32_t n_parts, uint32_t parts_at,
           uint32_t out_at) {
  const MergePush push{.parts_at = parts_at,
                       .softmax_at = 0,
                       .out_at = out_at,
                       .head_dim_v = static_cast<uint32_t>(args.kv.head_dim_v),
                       .n_vectors = n_vectors,
                       .n_parts = n_parts};
  dispatch(s, "attention_merge", {}, {scratch_of(s), scratch_of(s), operand_of(args.out)}, push,
           groups_for(n_vectors * args.kv.head_dim_v));
}

// Whether rows of the cache lie such that floats may be loaded 16 bytes at a time.
bool has_whole_quads(const KvView& kv, uint32_t layer_start) {
  return kv.k_row_bytes % 16 == 0 && kv.v_row_bytes % 16 == 0 && kv.page_bytes % 16 == 0 &&
         layer_start % 16 == 0 && kv.head_dim_k % 16 == 0;
}

// Tokens [first, first + n).
void attend(Stream& s, const AttentionArgs& args, int64_t first, int64_t n, uint32_t n_parts) {
  const KvView& kv = args.kv;
  assert(kv.layer_bytes < UINT32_MAX && "shaders count bytes of a layer in 32 bits");
  const KvLayer layer = kv_layer(kv);
  const bool whole_quads = has_whole_quads(kv, layer.first_byte);
  const uint32_t pieces = k_pieces(kv, whole_quads);
  const auto n_head = static_cast<uint32_t>(args.q.ne[1]), n_tokens = static_cast<uint32_t>(n);
  const auto rows_of_head = static_cast<uint32_t>(n * (args.q.ne[1] / kv.n_head_kv));
  const uint32_t n_rows = tile_rows(rows_of_head, pieces, limits_of(s));
  const auto first_token = static_cast<uint32_t>(first);
  const uint32_t first_out =
      word_offset(args.out) + first_token * n_head * static_cast<uint32_t>(kv.head_dim_v);
  const bool has_parts = n_parts > 1;
  const uint32_t n_vectors = n_head * n_tokens;
  // Where it is absent, something must be bound and is not read.
  const Tensor& first_seen = args.batch.first ? args.batch.first : args.batch.pos;
  const uint32_t parts_at = 2 * n_vectors * n_parts;  // after the states of their softmax
  const Push push{.kv_at = layer.first_byte,
                  .page_bytes = static_cast<uint32_t>(kv.page_bytes),
                  .page_tokens = static_cast<uint32_t>(kv.page_tokens),
                  .k_row_bytes = static_cast<uint32_t>(kv.k_row_bytes),
                  .v_row_bytes = static_cast<uint32_t>(kv.v_row_bytes),
                  .page_table_at = word_offset(kv.page_table),
                  .max_pages = static_cast<uint32_t>(kv.page_table.ne[0]),
                  .seq_at = word_offset(args.batch.seq) + first_token,
                  .pos_at = word_offset(args.batch.pos) + first_token,
                  .q_at = word_offset(args.q) + first_token * n_head * static_cast<uint32_t>(kv.head_dim_k),
                  .out_at = has_parts ? parts_at : first_out,
                  .softmax_at = 0,
                  .head_dim_k = static_cast<uint32_t>(kv.head_dim_k),
                  .head_dim_v = static_cast<uint32_t>(kv.head_dim_v),
                  .n_head = n_head,
                  .n_head_kv = static_cast<uint32_t>(kv.n_head_kv),
                  .n_tokens = n_tokens,
                  .n_parts = n_parts,
                  .has_first = args.batch.first ? 1u : 0u,
                  .first_at = word_offset(first_seen) + first_token,
                  .scale = args.scale};
  dispatch(s, "attention",
           {static_cast<uint32_t>(kv.k.format), static_cast<uint32_t>(kv.v.format), n_rows, pieces,
            v_pairs(kv, whole_quads), whole_quads},
           {layer.operand, layer.operand, operand_of(kv.page_table), operand_of(args.batch.seq),
            operand_of(args.batch.pos), operand_of(args.q), has_parts ? scratch_of(s) : operand_of(args.out),
            has_parts ? scratch_of(s) : Operand{}, operand_of(first_seen)},
           push, {div_up(rows_of_head, n_rows), push.n_head_kv, n_parts});
  if (has_parts) merge(s, args, n_vectors, n_parts, parts_at, first_out);
}

void run_attention(Stream& s, const AttentionArgs& args) {
  const int64_t n_tokens = args.q.ne[2];
  if (args.q.n_elements() == 0) return;
  if (n_tokens > kMostAlikeRows && !limits_of(s).is_deterministic) return attend(s, args, 0, n_tokens, 1);
  const auto n_parts = static_cast<uint32_t>(most_parts(args));
  for (int64_t first = 0; first < n_tokens; first += kMostAlikeRows)
    attend(s, args, first, std::min(n_tokens - first, kMostAlikeRows), n_parts);
}

}  // namespace

void fill_attention(OpTable& table) {
  fill_plain_formats(table.attention, {run_attention, scratch_bytes});
}

}  // namespace parlance::vulkan
