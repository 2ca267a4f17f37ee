// attention on CUDA: which kernel serves a batch, and how its work is shared among blocks.
#include "kernels/cuda/attention/attention.h"

#include "base/checked.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

using namespace attention;

constexpr int kMaxDecodeTokens = 8;  // from here on tokens share what is read of the cache
// Fewer keys are not worth a block, and its partial results not worth merging.
constexpr int64_t kLeastSplitKeys = 64;
constexpr int64_t kMaxBlocks = 640;  // that splitting aims for, on the largest GPU
constexpr size_t kAlignment = 256;

Tiling tiling_of(const AttentionArgs& args, int rows, int max_tokens) {
  const auto group = static_cast<int>(args.q.ne[1] / args.kv.n_head_kv);
  const int heads = div_up(group, div_up(group, rows));
  const int tokens = std::clamp(rows / heads, 1, max_tokens);
  return {heads, div_up(group, heads), tokens, static_cast<int>(div_up<int64_t>(args.q.ne[2], tokens))};
}

int64_t most_splits(const AttentionArgs& args) {
  return std::clamp<int64_t>(args.batch.n_kv_bound / kLeastSplitKeys, 1, kMaxSplits);
}

// As many as keep every multiprocessor busy with `resident` blocks, and none waits for a second round.
int splits_of(const AttentionArgs& args, const Tiling& tiling, int resident, const Gpu& gpu) {
  const int64_t blocks = std::min<int64_t>(resident * gpu.n_multiprocessors, kMaxBlocks);
  const int64_t passes = tiling.n_tiles * args.kv.n_head_kv * tiling.parts;
  return static_cast<int>(std::clamp<int64_t>(blocks / passes, 1, most_splits(args)));
}

// Partial results of any batch up to this one. Splits times passes are at most kMaxBlocks where there are
// splits, and no tile has more tokens than the prefill's.
int64_t most_partials(const AttentionArgs& args) {
  const int64_t tile_tokens = tiling_of(args, kPrefillRows, kPrefillRows).tokens;
  return args.q.ne[1] *
         std::min(args.q.ne[2] * most_splits(args), div_up(tile_tokens * kMaxBlocks, args.kv.n_head_kv));
}

size_t stats_bytes(const AttentionArgs& args) {
  return align_up(static_cast<size_t>(most_partials(args)) * sizeof(float2), kAlignment);
}

size_t scratch_of_attention(const AttentionArgs& args, int) {
  return stats_bytes(args) + static_cast<size_t>(most_partials(args) * args.kv.head_dim_v) * sizeof(float);
}

Params params_of(const AttentionArgs& args) {
  constexpr float kLog2E = 1.44269504088896f;
  const KvView& kv = args.kv;
  Params p;
  p.q = args.q.as<const float>();
  p.out = args.out.as<float>();
  p.pages = kv.pages;
  p.page_table = kv.page_table.as<const int32_t>();
  p.seq = args.batch.seq.as<const int32_t>();
  p.pos = args.batch.pos.as<const int32_t>();
  p.max_pages = kv.page_table.ne[0];
  p.page_bytes = static_cast<int64_t>(kv.page_bytes);
  p.v_start = static_cast<int64_t>(kv.v_offset(0));
  p.page_tokens = kv.page_tokens;
  p.k_row_bytes = static_cast<int>(kv.k_row_bytes);
  p.v_row_bytes = static_cast<int>(kv.v_row_bytes);
  p.head_dim_k = static_cast<int>(kv.head_dim_k);
  p.head_dim_v = static_cast<int>(kv.head_dim_v);
  p.n_head = static_cast<int>(args.q.ne[1]);
  p.group = static_cast<int>(args.q.ne[1] / kv.n_head_kv);
  p.n_tokens = static_cast<int>(args.q.ne[2]);
  p.scale = args.scale * kLog2E;
  return p;
}

void run_attention(Stream& stream, const AttentionArgs& args) {
  const int64_t n_tokens = args.q.ne[2];
  if (n_tokens == 0) return;
  Params p = params_of(args);
  Run run = run_plain;
  int resident = 3;  // blocks that the registers of a multiprocessor hold
  p.tiling = tiling_of(args, kPlainRows, kPlainRows);
  if (n_tokens <= kMaxDecodeTokens && decode_serves(args)) {
    run = run_decode;
    p.tiling = tiling_of(args, kDecodeHeads, 1);
    resident = p.tiling.heads > kDecodeHeads / 2 ? 2 : 3;
  } else if (n_tokens > kMaxDecodeTokens && prefill_serves(args)) {
    run = run_prefill;
    p.tiling = tiling_of(args, kPrefillRows, kPrefillRows);
    resident = 2;
  }
  p.n_splits = splits_of(args, p.tiling, resident, gpu_of(stream));
  p.partials.stats = reinterpret_cast<float2*>(scratch_of(stream));
  p.partials.out = reinterpret_cast<float*>(scratch_of(stream) + stats_bytes(args));
  run(stream, p, args);
  if (p.n_splits > 1) run_merge(stream, p);
}

}  // namespace

void fill_attention(OpTable& table) {
  fill_plain_formats(table.attention, {run_attention, scratch_of_attention});
}

}  // namespace parlance::cuda
