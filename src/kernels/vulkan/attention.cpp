// attention on Vulkan: attention.comp for tiles of query rows, and for long contexts for several parts of the
// positions, which attention_merge.comp then puts together.
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/kv_layer.h"

namespace parlance::vulkan {

namespace {

constexpr uint32_t kLanes = 128;       // positions that a workgroup takes at once
constexpr uint32_t kMostRows = 16;     // of a tile
constexpr uint32_t kBusyGroups = 512;  // workgroups that keep a large device busy

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
  uint32_t part_positions;
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
  return sizeof(float) * (size_t{n_rows} * (pieces * 16 + kLanes + kLanes / 4 + 3) + kLanes);
}

// How the work is divided into workgroups: tiles of rows, KV heads, parts of the positions.
struct Division {
  uint32_t n_rows;
  uint32_t n_tiles;
  uint32_t n_parts;
  uint32_t part_positions;
};

Division divide(const AttentionArgs& args, uint32_t pieces, const DeviceLimits& limits) {
  const auto n_head_kv = static_cast<uint32_t>(args.kv.n_head_kv);
  const auto rows_of_head = static_cast<uint32_t>(args.q.ne[2] * (args.q.ne[1] / args.kv.n_head_kv));
  Division division{};
  // Drivers on the CPU take long to compile the shader for large tiles.
  division.n_rows = rows_of_head <= 4 || limits.is_software ? 4 : rows_of_head <= 8 ? 8 : kMostRows;
  while (division.n_rows > 4 && shared_bytes(division.n_rows, pieces) > limits.shared_bytes)
    division.n_rows /= 2;
  division.n_tiles = div_up(rows_of_head, division.n_rows);
  const auto n_blocks = static_cast<uint32_t>(div_up<int64_t>(args.batch.n_kv_bound, kLanes));
  const uint32_t wanted = std::clamp(kBusyGroups / (division.n_tiles * n_head_kv), 1u, n_blocks);
  division.part_positions = div_up(n_blocks, wanted) * kLanes;
  division.n_parts = div_up(n_blocks * kLanes, division.part_positions);
  return division;
}

// Room for the parts of any division: there are no more than kBusyGroups workgroups when there are several
// parts.
size_t most_vectors(const AttentionArgs& args) {
  const int64_t all = args.q.ne[1] * args.q.ne[2] * div_up<int64_t>(args.batch.n_kv_bound, kLanes);
  return static_cast<size_t>(std::min<int64_t>(all, int64_t{kBusyGroups} * kMostRows));
}

size_t scratch_bytes(const AttentionArgs& args, int) {
  return most_vectors(args) * static_cast<size_t>(args.kv.head_dim_v + 2) * sizeof(float);
}

void merge(Stream& s, const AttentionArgs& args, uint32_t n_parts, uint32_t parts_at) {
  const MergePush push{.parts_at = parts_at,
                       .softmax_at = 0,
                       .out_at = word_offset(args.out),
                       .head_dim_v = static_cast<uint32_t>(args.kv.head_dim_v),
                       .n_vectors = static_cast<uint32_t>(args.q.ne[1] * args.q.ne[2]),
                       .n_parts = n_parts};
  dispatch(s, "attention_merge", {}, {scratch_of(s), scratch_of(s), operand_of(args.out)}, push,
           groups_for(args.out.n_elements()));
}

// Whether rows of the cache lie such that floats may be loaded 16 bytes at a time.
bool has_whole_quads(const KvView& kv, uint32_t layer_start) {
  return kv.k_row_bytes % 16 == 0 && kv.v_row_bytes % 16 == 0 && kv.page_bytes % 16 == 0 &&
         layer_start % 16 == 0 && kv.head_dim_k % 16 == 0;
}

void run_attention(Stream& s, const AttentionArgs& args) {
  if (args.q.n_elements() == 0) return;
  const KvView& kv = args.kv;
  assert(kv.layer_bytes < UINT32_MAX && "shaders count bytes of a layer in 32 bits");
  const KvLayer layer = kv_layer(kv);
  const bool whole_quads = has_whole_quads(kv, layer.first_byte);
  const uint32_t pieces = k_pieces(kv, whole_quads);
  const Division division = divide(args, pieces, limits_of(s));
  const bool has_parts = division.n_parts > 1;
  const auto n_vectors = static_cast<uint32_t>(args.q.ne[1] * args.q.ne[2]);
  const uint32_t parts_at = 2 * n_vectors * division.n_parts;  // after the states of their softmax
  const Push push{.kv_at = layer.first_byte,
                  .page_bytes = static_cast<uint32_t>(kv.page_bytes),
                  .page_tokens = static_cast<uint32_t>(kv.page_tokens),
                  .k_row_bytes = static_cast<uint32_t>(kv.k_row_bytes),
                  .v_row_bytes = static_cast<uint32_t>(kv.v_row_bytes),
                  .page_table_at = word_offset(kv.page_table),
                  .max_pages = static_cast<uint32_t>(kv.page_table.ne[0]),
                  .seq_at = word_offset(args.batch.seq),
                  .pos_at = word_offset(args.batch.pos),
                  .q_at = word_offset(args.q),
                  .out_at = has_parts ? parts_at : word_offset(args.out),
                  .softmax_at = 0,
                  .head_dim_k = static_cast<uint32_t>(kv.head_dim_k),
                  .head_dim_v = static_cast<uint32_t>(kv.head_dim_v),
                  .n_head = static_cast<uint32_t>(args.q.ne[1]),
                  .n_head_kv = static_cast<uint32_t>(kv.n_head_kv),
                  .n_tokens = static_cast<uint32_t>(args.q.ne[2]),
                  .n_parts = division.n_parts,
                  .part_positions = division.part_positions,
                  .scale = args.scale};
  dispatch(s, "attention",
           {static_cast<uint32_t>(kv.k.format), static_cast<uint32_t>(kv.v.format), division.n_rows, pieces,
            v_pairs(kv, whole_quads), whole_quads},
           {layer.operand, layer.operand, operand_of(kv.page_table), operand_of(args.batch.seq),
            operand_of(args.batch.pos), operand_of(args.q), has_parts ? scratch_of(s) : operand_of(args.out),
            has_parts ? scratch_of(s) : Operand{}},
           push, {division.n_tiles, push.n_head_kv, division.n_parts});
  if (has_parts) merge(s, args, division.n_parts, parts_at);
}

}  // namespace

void fill_attention(OpTable& table) {
  fill_plain_formats(table.attention, {run_attention, scratch_bytes});
}

}  // namespace parlance::vulkan
