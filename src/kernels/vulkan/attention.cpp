// attention on Vulkan: attention.comp for tiles of query rows, and for few tokens and long contexts for
// several parts of the positions, which the last of its groups to be done or attention_merge.comp puts
// together. Queries meet compressed keys as kv_transform.comp makes them; then attention_join.comp makes head
// vectors of what was summed up, and puts main and exact pages together.
#include <cassert>

#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/kv_constants.h"
#include "kernels/vulkan/kv_layer.h"

namespace parlance::vulkan {

namespace {

constexpr uint32_t kLanes = 128;    // positions that a workgroup takes at once
constexpr uint32_t kMostRows = 16;  // of a tile
constexpr int64_t kMostParts = 32;  // of the positions of a row, as in attention.comp

struct AttentionPush {  // as in attention.comp
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
  uint32_t keeps_sums;
  uint32_t pages_of;
  uint32_t main_pages_at;
  uint32_t merged_at;
};

struct FreshPush {  // as in attention.comp with attention_fresh.glsl
  AttentionPush attention;
  uint32_t k_at;
  uint32_t v_at;
  uint32_t angles_at;
  uint32_t q_norm_at;
  uint32_t k_norm_at;
  float eps;
};

struct TransformPush {  // as in kv_transform.comp
  uint32_t n;
  uint32_t source_first, stored_first;
  uint32_t rotated_block;
  float root;
};

struct JoinPush {  // as in attention_join.comp
  uint32_t main_at, main_softmax_at;
  uint32_t exact_at, exact_softmax_at;
  uint32_t out_at;
  uint32_t head_dim;
  uint32_t n_vectors;
  uint32_t n_parts, n_exact_parts;
  uint32_t rotated_block;
  float root;
};

struct MergePush {
  uint32_t parts_at;
  uint32_t softmax_at;
  uint32_t out_at;
  uint32_t head_dim_v;
  uint32_t n_vectors;
  uint32_t n_parts;
};

// Which pages of a sequence are met, as in attention.comp.
enum class Pages : uint32_t { all, main, exact };

// Attention over pages of one kind: what attention.comp is given.
struct Pass {
  const KvView* kv;
  Pages pages;
  int64_t head_dim_k, head_dim_v;  // of stored keys and values
  Operand q;
  uint32_t q_at;
  Operand out, softmax;
  uint32_t out_at, softmax_at;
  bool keeps_sums;
  Operand merged = {};  // where parts are put together at once
  uint32_t merged_at = 0;
  const NormRopeWriteArgs* fresh = nullptr;  // of a token alone, which this is done for before
};

// Whether rows of the cache lie such that floats may be loaded 16 bytes at a time.
bool has_whole_quads(const KvView& kv, uint32_t layer_start) {
  const auto is_whole = [](KvFormat format, size_t row_bytes) {
    return format > KvFormat::bf16 || row_bytes % 16 == 0;
  };
  return is_whole(kv.k.format, kv.k_row_bytes) && is_whole(kv.v.format, kv.v_row_bytes) &&
         kv.page_bytes % 16 == 0 && kv.v_offset(0) % 16 == 0 && layer_start % 16 == 0 &&
         kv.head_dim_k % 16 == 0;
}

// Sizes of heads as constants of the shader. Where it checks each dimension anyway, similar sizes share one.
uint32_t k_pieces(int64_t head_dim, bool whole_quads) {
  return static_cast<uint32_t>(div_up<int64_t>(whole_quads ? head_dim : align_up<int64_t>(head_dim, 32), 16));
}

uint32_t v_pairs(int64_t head_dim, bool whole_quads) {
  return static_cast<uint32_t>(div_up<int64_t>(whole_quads ? head_dim : align_up<int64_t>(head_dim, 32), 2));
}

bool is_plain(KvFormat format) {
  return format <= KvFormat::q8_0;
}

// Levels of a format that the shader keeps in shared memory.
uint32_t n_levels(KvFormat format) {
  if (is_plain(format)) return 1;
  return format == KvFormat::tbq3_tcq ? 512 : 16;
}

// What attention.comp is compiled for.
struct Variant {
  uint32_t k_format, v_format;
  bool whole_quads;
  uint32_t pieces, pairs;  // that a key and a value have or fewer
  uint32_t k_levels, v_levels;
  bool has_residual;

  Variant(const KvView& kv, int64_t head_dim_k, int64_t head_dim_v, bool whole_quads)
      : k_format(static_cast<uint32_t>(kv.k.format)),
        v_format(static_cast<uint32_t>(kv.v.format)),
        whole_quads(whole_quads),
        pieces(k_pieces(head_dim_k, whole_quads)),
        pairs(v_pairs(head_dim_v, whole_quads)),
        k_levels(n_levels(kv.k.format)),
        v_levels(n_levels(kv.v.format)),
        has_residual(kv.k.format == KvFormat::q4_polar_residual ||
                     kv.v.format == KvFormat::q4_polar_residual) {}

  size_t shared_bytes() const { return sizeof(float) * (k_levels + v_levels + (has_residual ? 128 : 1)); }
};

// Bytes of shared memory of attention.comp.
size_t shared_bytes(uint32_t n_rows, uint32_t pieces, bool has_subgroups) {
  const uint32_t n_reduced = has_subgroups ? kLanes / 4 : kLanes;
  const uint32_t n_softmax = 2 * static_cast<uint32_t>(kMostParts);
  return sizeof(float) * (size_t{n_rows} * (pieces * 16 + kLanes + n_reduced + n_softmax + 4) + kLanes + 2);
}

// Rows of a tile.
uint32_t tile_rows(uint32_t rows_of_head, const Variant& variant, const DeviceLimits& limits) {
  // Drivers on the CPU take long to compile the shader for large tiles.
  uint32_t n_rows = rows_of_head <= 4 || limits.is_software ? 4 : rows_of_head <= 8 ? 8 : kMostRows;
  const auto shared = [&] {
    return shared_bytes(n_rows, variant.pieces, limits.has_subgroup_arithmetic) + variant.shared_bytes();
  };
  while (n_rows > 4 && shared() > limits.shared_bytes) n_rows /= 2;
  return n_rows;
}

// Rows of the tile of a token alone, in attention_row.comp.
uint32_t token_rows(uint32_t n_heads) {
  return n_heads <= 2 ? 2 : n_heads <= 4 ? 4 : n_heads <= 8 ? 8 : kMostRows;
}

// Values that a lane loads before it uses the first, which hides the latency of memory: more where sums of
// few rows take few registers, and of a token alone, of which there are few groups. Drivers on the CPU take a
// fifth longer to compile the shader for eight of them; sums are the same, in the same order.
uint32_t values_at_once(const DeviceLimits& limits, uint32_t n_rows, bool is_alone) {
  return limits.is_software ? 2 : n_rows > 4 ? 8 : is_alone ? 32 : 16;
}

// Pieces of keys likewise.
uint32_t pieces_at_once(const DeviceLimits& limits, uint32_t n_rows) {
  return limits.is_software || n_rows > 4 ? 1 : 4;
}

// Parts of the positions of any row up to the bound: answers and small pieces of prompts have several.
int64_t most_parts(const AttentionArgs& args) {
  return std::min(div_up<int64_t>(args.batch.n_kv_bound, kLanes), kMostParts);
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

// Tokens [first, first + n).
struct Tokens {
  int64_t first, n;
};

void run_pass(Stream& s, const AttentionArgs& args, const Tokens& tokens, uint32_t n_parts,
              const Pass& pass) {
  const KvView& kv = *pass.kv;
  assert(kv.layer_bytes < UINT32_MAX && "shaders count bytes of a layer in 32 bits");
  const KvLayer layer = kv_layer(kv);
  const Variant variant(kv, pass.head_dim_k, pass.head_dim_v, has_whole_quads(kv, layer.first_byte));
  const auto n_head = static_cast<uint32_t>(args.q.ne[1]);
  const int64_t group_size = args.q.ne[1] / kv.n_head_kv;
  const auto rows_of_head = static_cast<uint32_t>(tokens.n * group_size);
  // A tile's rows meet the keys of each of its sequences: more than one of them has are idle most of the
  // time.
  const auto rows_of_sequence = static_cast<uint32_t>(std::min(tokens.n, args.batch.most_rows) * group_size);
  const uint32_t n_rows =
      pass.fresh ? token_rows(rows_of_head) : tile_rows(rows_of_sequence, variant, limits_of(s));
  const auto first_token = static_cast<uint32_t>(tokens.first);
  // Where it is absent, something must be bound and is not read.
  const Tensor& first_seen = args.batch.first ? args.batch.first : args.batch.pos;
  const Tensor& main_pages = args.kv.main_pages ? args.kv.main_pages : args.batch.pos;
  const AttentionPush push{.kv_at = layer.first_byte,
                           .page_bytes = static_cast<uint32_t>(kv.page_bytes),
                           .page_tokens = static_cast<uint32_t>(kv.page_tokens),
                           .k_row_bytes = static_cast<uint32_t>(kv.k_row_bytes),
                           .v_row_bytes = static_cast<uint32_t>(kv.v_row_bytes),
                           .page_table_at = word_offset(kv.page_table),
                           .max_pages = static_cast<uint32_t>(kv.page_table.ne[0]),
                           .seq_at = word_offset(args.batch.seq) + first_token,
                           .pos_at = word_offset(args.batch.pos) + first_token,
                           .q_at = pass.q_at,
                           .out_at = pass.out_at,
                           .softmax_at = pass.softmax_at,
                           .head_dim_k = static_cast<uint32_t>(pass.head_dim_k),
                           .head_dim_v = static_cast<uint32_t>(pass.head_dim_v),
                           .n_head = n_head,
                           .n_head_kv = static_cast<uint32_t>(kv.n_head_kv),
                           .n_tokens = static_cast<uint32_t>(tokens.n),
                           .n_parts = n_parts,
                           .has_first = args.batch.first ? 1u : 0u,
                           .first_at = word_offset(first_seen) + first_token,
                           .scale = args.scale,
                           .keeps_sums = pass.keeps_sums ? 1u : 0u,
                           .pages_of = static_cast<uint32_t>(pass.pages),
                           .main_pages_at = word_offset(main_pages),
                           .merged_at = pass.merged_at};
  std::vector<uint32_t> constants = {variant.k_format,
                                     variant.v_format,
                                     n_rows,
                                     variant.pieces,
                                     variant.pairs,
                                     variant.whole_quads,
                                     variant.k_levels,
                                     variant.v_levels,
                                     variant.has_residual,
                                     values_at_once(limits_of(s), n_rows, pass.fresh),
                                     pass.merged.buffer ? 1u : 0u,
                                     pieces_at_once(limits_of(s), n_rows)};
  std::vector<Operand> operands = {layer.operand,
                                   layer.operand,
                                   operand_of(kv.page_table),
                                   operand_of(args.batch.seq),
                                   operand_of(args.batch.pos),
                                   pass.q,
                                   pass.out,
                                   pass.softmax,
                                   operand_of(first_seen),
                                   kv_constants(s),
                                   operand_of(main_pages),
                                   pass.merged.buffer ? counters(s) : Operand{},
                                   pass.merged};
  const Groups groups{div_up(rows_of_head, n_rows), push.n_head_kv, n_parts};
  if (pass.fresh) {
    const NormRopeWriteArgs& fresh = *pass.fresh;
    const auto n_pairs = static_cast<uint32_t>(fresh.angles.ne[0]);
    const bool is_halves = fresh.style == RopeStyle::halves;
    constants.insert(constants.end(), {fresh.q_norm ? 1u : 0u, fresh.k_norm ? 1u : 0u, n_pairs,
                                       is_halves ? 1u : 2u, is_halves ? n_pairs : 1u});
    operands.insert(operands.end(), {operand_of(fresh.q_norm), operand_of(fresh.k_norm)});
    const FreshPush with_fresh{.attention = push,
                               .k_at = word_offset(fresh.write.k),
                               .v_at = word_offset(fresh.write.v),
                               .angles_at = word_offset(fresh.angles),
                               .q_norm_at = word_offset(fresh.q_norm),
                               .k_norm_at = word_offset(fresh.k_norm),
                               .eps = fresh.eps};
    return dispatch(s, "attention_row", constants, operands, std::as_bytes(std::span(&with_fresh, 1)),
                    groups);
  }
  const bool is_compressed = !is_plain(kv.k.format) || !is_plain(kv.v.format);
  dispatch(s, is_compressed ? "attention_compressed" : "attention", constants, operands,
           std::as_bytes(std::span(&push, 1)), groups);
}

uint32_t first_of(const Tensor& heads, const Tokens& tokens) {
  return word_offset(heads) + static_cast<uint32_t>(tokens.first * heads.ne[0] * heads.ne[1]);
}

void attend(Stream& s, const AttentionArgs& args, const Tokens& tokens, uint32_t n_parts,
            const NormRopeWriteArgs* fresh = nullptr) {
  const auto n_vectors = static_cast<uint32_t>(args.q.ne[1] * tokens.n);
  const bool has_parts = n_parts > 1;
  const bool merges_itself = has_parts && limits_of(s).orders_groups && n_vectors <= kCounters;
  const uint32_t parts_at = 2 * n_vectors * n_parts;  // after the states of their softmax
  run_pass(s, args, tokens, n_parts,
           {.kv = &args.kv,
            .pages = Pages::all,
            .head_dim_k = args.kv.head_dim_k,
            .head_dim_v = args.kv.head_dim_v,
            .q = operand_of(args.q),
            .q_at = first_of(args.q, tokens),
            .out = has_parts ? scratch_of(s) : operand_of(args.out),
            .softmax = has_parts ? scratch_of(s) : Operand{},
            .out_at = has_parts ? parts_at : first_of(args.out, tokens),
            .softmax_at = 0,
            .keeps_sums = has_parts,
            .merged = merges_itself ? operand_of(args.out) : Operand{},
            .merged_at = first_of(args.out, tokens),
            .fresh = fresh});
  if (has_parts && !merges_itself) merge(s, args, n_vectors, n_parts, parts_at, first_of(args.out, tokens));
}

// Where all of it lies in scratch memory while tokens attend to compressed pages, in floats.
struct Room {
  int64_t queries = 0, main_softmax, main, exact_softmax, exact, end;

  Room(const AttentionArgs& args, int64_t n_tokens, int64_t n_parts) {
    const int64_t n_vectors = args.q.ne[1] * n_tokens, n_sums = n_vectors * n_parts;
    const KvTransform of_keys = args.kv.k.transform();
    const bool is_own = of_keys != KvTransform::none;
    main_softmax = is_own ? n_vectors * stored_elements(of_keys, args.kv.head_dim_k) : 0;
    main_softmax += main_softmax % 2;  // softmax states are read as pairs
    main = main_softmax + 2 * n_sums;
    exact_softmax = main + n_sums * stored_elements(args.kv.v.transform(), args.kv.head_dim_v);
    exact_softmax += exact_softmax % 2;
    exact = exact_softmax + (args.kv.exact ? 2 * n_sums : 0);
    end = exact + (args.kv.exact ? n_sums * args.kv.head_dim_v : 0);
  }
};

// Of compressed or rotated pages, with exact ones beside them or not.
void attend_compressed(Stream& s, const AttentionArgs& args, const Tokens& tokens, uint32_t n_parts) {
  const KvView& kv = args.kv;
  const auto n_vectors = static_cast<uint32_t>(args.q.ne[1] * tokens.n);
  const Room room(args, tokens.n, n_parts);
  const auto at = [](int64_t floats) { return static_cast<uint32_t>(floats); };
  const KvTransform of_keys = kv.k.transform(), of_values = kv.v.transform();
  Pass main{.kv = &kv,
            .pages = kv.exact ? Pages::main : Pages::all,
            .head_dim_k = stored_elements(of_keys, kv.head_dim_k),
            .head_dim_v = stored_elements(of_values, kv.head_dim_v),
            .q = operand_of(args.q),
            .q_at = first_of(args.q, tokens),
            .out = scratch_of(s),
            .softmax = scratch_of(s),
            .out_at = at(room.main),
            .softmax_at = at(room.main_softmax / 2),
            .keeps_sums = true};
  if (of_keys != KvTransform::none) {
    const Rotation rotation(kv.head_dim_k);
    const TransformPush push{.n = n_vectors,
                             .source_first = main.q_at,
                             .stored_first = at(room.queries),
                             .rotated_block = rotation.block,
                             .root = rotation.root};
    dispatch(s, "kv_transform", {static_cast<uint32_t>(of_keys), at(kv.head_dim_k)},
             {operand_of(args.q), scratch_of(s), kv_constants(s), sketch_of(s, of_keys)}, push,
             folded_groups(n_vectors));
    main.q = scratch_of(s);
    main.q_at = at(room.queries);
  }
  {
    const SideBySide side_by_side(s);
    run_pass(s, args, tokens, n_parts, main);
    if (kv.exact) {
      Pass exact = main;
      exact.kv = kv.exact;
      exact.pages = Pages::exact;
      exact.head_dim_k = kv.head_dim_k;
      exact.head_dim_v = kv.head_dim_v;
      exact.q = operand_of(args.q);
      exact.q_at = first_of(args.q, tokens);
      exact.out_at = at(room.exact);
      exact.softmax_at = at(room.exact_softmax / 2);
      run_pass(s, args, tokens, n_parts, exact);
    }
  }
  const Rotation rotation(kv.head_dim_v);
  const JoinPush push{.main_at = at(room.main),
                      .main_softmax_at = at(room.main_softmax / 2),
                      .exact_at = at(room.exact),
                      .exact_softmax_at = at(room.exact_softmax / 2),
                      .out_at = first_of(args.out, tokens),
                      .head_dim = at(kv.head_dim_v),
                      .n_vectors = n_vectors,
                      .n_parts = n_parts,
                      .n_exact_parts = kv.exact ? n_parts : 0,
                      .rotated_block = rotation.block,
                      .root = rotation.root};
  dispatch(s, "attention_join", {static_cast<uint32_t>(of_values), at(main.head_dim_v)},
           {scratch_of(s), scratch_of(s), operand_of(args.out), kv_constants(s), sketch_of(s, of_values)},
           push, folded_groups(n_vectors));
}

// Whether keys and values meet queries as they are, all in pages of one kind.
bool is_met_as_stored(const KvView& kv) {
  return !kv.exact && kv.k.transform() == KvTransform::none && kv.v.transform() == KvTransform::none;
}

// Tokens of a large piece of a prompt that are taken at once from compressed pages.
constexpr int64_t kPieceTokens = 256;

size_t scratch_bytes(const AttentionArgs& args, int) {
  const int64_t n = args.q.ne[2], n_cut = std::min(n, kMostAlikeRows);
  if (is_met_as_stored(args.kv)) {
    const int64_t n_vectors = args.q.ne[1] * n_cut * most_parts(args);
    return static_cast<size_t>(n_vectors * (args.kv.head_dim_v + 2)) * sizeof(float);
  }
  const int64_t floats =
      std::max(Room(args, n_cut, most_parts(args)).end, Room(args, std::min(n, kPieceTokens), 1).end);
  return static_cast<size_t>(floats) * sizeof(float);
}

void run_attention(Stream& s, const AttentionArgs& args) {
  const int64_t n_tokens = args.q.ne[2];
  if (args.q.n_elements() == 0) return;
  const bool is_whole = n_tokens > kMostAlikeRows && !limits_of(s).is_deterministic;
  const auto n_parts = is_whole ? 1 : static_cast<uint32_t>(most_parts(args));
  const bool is_plain = is_met_as_stored(args.kv);
  const int64_t piece = !is_whole ? kMostAlikeRows : is_plain ? n_tokens : kPieceTokens;
  for (int64_t first = 0; first < n_tokens; first += piece) {
    const Tokens tokens{first, std::min(n_tokens - first, piece)};
    is_plain ? attend(s, args, tokens, n_parts) : attend_compressed(s, args, tokens, n_parts);
  }
}

// Whether attention_row.comp has code for that: the page of the token's key is written and read by one group.
bool is_fresh_row(Stream& s, const FusedAttentionArgs& args) {
  const AttentionArgs& attention = args.attention;
  const KvView& kv = attention.kv;
  const DeviceLimits& limits = limits_of(s);
  const int64_t group_size = attention.q.ne[1] / kv.n_head_kv;
  constexpr uint32_t kTeamLanes = 64;  // of attention_fresh.glsl, in whole subgroups
  if (limits.has_subgroup_arithmetic && limits.subgroup_size > kTeamLanes) return false;
  if (attention.q.ne[2] != 1 || !is_plain(kv.k.format) || !is_plain(kv.v.format) || !is_met_as_stored(kv) ||
      kv.k_shift || kv.q_scale || !limits.orders_groups) {
    return false;
  }
  for (const Tensor& x : {args.write.write.k, args.write.write.v, args.write.angles}) {
    if (x.buffer != attention.q.buffer) return false;
  }
  const Variant variant(kv, kv.head_dim_k, kv.head_dim_v, false);
  const uint32_t n_rows = token_rows(static_cast<uint32_t>(group_size));
  // Key, value, sums of two components, and of squares.
  const size_t of_heads =
      sizeof(float) * (variant.pieces * 16 + variant.pairs * 2 + kLanes * (n_rows + n_rows / 2 + 1));
  return group_size <= n_rows && shared_bytes(n_rows, variant.pieces, limits.has_subgroup_arithmetic) +
                                         variant.shared_bytes() + of_heads <=
                                     limits.shared_bytes;
}

size_t fused_scratch_bytes(const FusedAttentionArgs& args, int n_threads) {
  return scratch_bytes(args.attention, n_threads);
}

void run_fused_attention(Stream& s, const FusedAttentionArgs& args) {
  const AttentionArgs& attention = args.attention;
  if (is_fresh_row(s, args))
    return attend(s, attention, {0, 1}, static_cast<uint32_t>(most_parts(attention)), &args.write);
  const KvView& kv = args.write.write.kv;
  op_table().norm_rope_write[static_cast<size_t>(kv.k.format)][static_cast<size_t>(kv.v.format)].run(
      s, args.write);
  run_attention(s, attention);
}

}  // namespace

void fill_attention(OpTable& table) {
  for (auto& row : table.attention) row.fill({run_attention, scratch_bytes});
}

const Cell<FusedAttentionArgs>& fused_attention() {
  static constexpr Cell<FusedAttentionArgs> kCell{run_fused_attention, fused_scratch_bytes};
  return kCell;
}

}  // namespace parlance::vulkan
