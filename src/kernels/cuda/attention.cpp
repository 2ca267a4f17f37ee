// attention on CUDA: which kernel serves a batch, and how its work is shared among blocks.
#include "kernels/cuda/attention/attention.h"

#include "base/checked.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

using namespace attention;

constexpr int64_t kMaxBlocks = 640;  // that sharing segments aims for, on the largest GPU
constexpr size_t kAlignment = 256;

// Tokens whose segments several blocks may share: results of the segments lie in scratch memory meanwhile.
// Answers come first in a batch; beside a prompt there are few.
constexpr int kMostSplitDecodeTokens = 64, kSplitTokensBesidePrompt = 16;

Tiling tiling_of(const AttentionArgs& args, int rows, int max_tokens) {
  const auto group = static_cast<int>(args.q.ne[1] / args.kv.n_head_kv);
  const int heads = div_up(group, div_up(group, rows));
  const int tokens = std::clamp(rows / heads, 1, max_tokens);
  return {heads, div_up(group, heads), tokens, static_cast<int>(div_up<int64_t>(args.q.ne[2], tokens))};
}

// Segments of a row in any batch up to this bound on positions.
int64_t most_decode_segments(const AttentionArgs& args) {
  return std::clamp<int64_t>(div_up<int64_t>(args.batch.n_kv_bound, segment_keys(1, 1, kMostCountedRows)), 1,
                             kMostDecodeSegments);
}

bool is_decode_only(const AttentionArgs& args) {
  return args.q.ne[2] <= kMostDecodeRows;
}

// Whether every row is taken as an answer's.
bool takes_rows_alone(Stream& stream, const AttentionArgs& args) {
  return args.q.ne[2] == 1 || gpu_of(stream).is_deterministic;
}

// Where a kernel leaves segments in scratch memory: statistics, then values.
struct PartialRoom {
  int64_t n_tokens;
  int64_t max_segments;

  int64_t n_rows(const AttentionArgs& args) const { return n_tokens * args.q.ne[1] * max_segments; }
  size_t stats_bytes(const AttentionArgs& args) const {
    return align_up(static_cast<size_t>(n_rows(args)) * sizeof(float2), kAlignment);
  }
  size_t bytes(const AttentionArgs& args) const {
    const auto n_values = static_cast<size_t>(n_rows(args) * args.kv.head_dim_v);
    return stats_bytes(args) + align_up(n_values * sizeof(float), kAlignment);
  }
};

PartialRoom decode_room(const AttentionArgs& args) {
  return {std::min<int64_t>(args.q.ne[2], kMostSplitDecodeTokens),
          std::max<int64_t>(most_decode_segments(args), kMostPrefillSegments)};
}

// Rows of a sequence whose tiles fill the GPU half.
int many_rows(const AttentionArgs& args) {
  constexpr int64_t kTiles = 132;
  const Tiling tiling = tiling_of(args, kPrefillRows, kPrefillRows);
  const int64_t n_tiles = kTiles / (args.kv.n_head_kv * tiling.parts) + 1;
  return static_cast<int>(std::min<int64_t>(n_tiles * tiling.tokens, kMostCountedRows));
}

PartialRoom prefill_room(const AttentionArgs& args) {
  const int64_t n_tokens = is_decode_only(args) || !prefill_serves(args) ? 0 : args.q.ne[2];
  return {std::min<int64_t>(n_tokens, many_rows(args)), kMostPrefillSegments};
}

size_t scratch_of_attention(const AttentionArgs& args, int) {
  return decode_room(args).bytes(args) + prefill_room(args).bytes(args);
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
  p.first = args.batch.first.as<const int32_t>();
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

// Blocks that share the segments of a row, so that every multiprocessor is busy with `resident` of them: all
// at once, or in so many rounds that the last one weighs little.
int splits_of(const AttentionArgs& args, const Tiling& tiling, int n_tiles, int64_t most, int resident,
              const Gpu& gpu) {
  constexpr int64_t kRounds = 4;
  const int64_t blocks = std::min<int64_t>(resident * gpu.n_multiprocessors, kMaxBlocks);
  const int64_t passes = n_tiles * args.kv.n_head_kv * tiling.parts;
  const int64_t splits = passes <= blocks ? blocks / passes : div_up(kRounds * blocks, passes);
  return static_cast<int>(std::clamp<int64_t>(splits, 1, most));
}

// One kernel for the rows of sequences that have least_rows..most_rows in the batch.
struct Pass {
  Run run;
  int least_rows, most_rows;
  int tile_rows, max_tile_tokens;
  int resident;  // blocks that the registers of a multiprocessor hold
  int n_split_tokens;
  PartialRoom room;
  std::byte* scratch;
};

Params params_of(Stream& stream, const AttentionArgs& args, const Pass& pass) {
  Params p = params_of(args);
  p.is_decode = takes_rows_alone(stream, args);
  p.many_rows = many_rows(args);
  p.least_rows = pass.least_rows;
  p.most_rows = pass.most_rows;
  p.tiling = tiling_of(args, pass.tile_rows, pass.max_tile_tokens);
  const int n_split_tiles = std::min(pass.n_split_tokens / p.tiling.tokens, p.tiling.n_tiles);
  p.n_splits =
      splits_of(args, p.tiling, n_split_tiles, pass.room.max_segments, pass.resident, gpu_of(stream));
  p.n_split_tokens = n_split_tiles * p.tiling.tokens;
  p.partials.stats = reinterpret_cast<float2*>(pass.scratch);
  p.partials.out = reinterpret_cast<float*>(pass.scratch + pass.room.stats_bytes(args));
  p.partials.max_segments = static_cast<int>(pass.room.max_segments);
  return p;
}

void run_pass(Stream& stream, const AttentionArgs& args, const Pass& pass) {
  Params p = params_of(stream, args, pass);
  const bool is_shared = p.n_splits > 1;
  if (!is_shared) p.n_split_tokens = 0;
  pass.run(stream, p, args);
  if (is_shared) run_merge(stream, p);
}

// Answers, and drafts, whose rows share what is read: by two kernels, whose segments are put together in one
// go.
void run_halves(Stream& stream, const AttentionArgs& args, const Pass& answers, const Pass& drafts) {
  Params p = params_of(stream, args, answers), of_drafts = params_of(stream, args, drafts);
  const bool is_shared = p.n_splits > 1;
  if (!is_shared) p.n_split_tokens = 0, of_drafts.n_splits = 1;
  of_drafts.n_split_tokens = p.n_split_tokens;
  answers.run(stream, p, args);
  drafts.run(stream, of_drafts, args);
  p.most_rows = drafts.most_rows;
  if (is_shared) run_merge(stream, p);
}

void run_attention(Stream& stream, const AttentionArgs& args) {
  const int64_t n_tokens = args.q.ne[2];
  if (n_tokens == 0) return;
  constexpr int kAny = 1 << 30;
  const PartialRoom room = decode_room(args);
  const int n_split_tokens =
      n_tokens <= kMostSplitDecodeTokens ? kMostSplitDecodeTokens : kSplitTokensBesidePrompt;
  Pass plain{run_plain, 1, kAny, kPlainRows, kPlainRows, 3, n_split_tokens, room, scratch_of(stream)};
  if (args.batch.first) return run_pass(stream, args, plain);
  const bool is_decode = is_decode_only(args) || gpu_of(stream).is_deterministic;
  const BatchView& batch = args.batch;
  const bool has_few = takes_rows_alone(stream, args) || batch.least_rows <= kMostDecodeRows;
  const bool has_many = !is_decode && batch.most_rows > kMostDecodeRows;
  const bool has_prefill = has_many && prefill_serves(args);
  if (decode_serves(args)) {
    const size_t shared_bytes = gpu_of(stream).shared_bytes_per_block;
    const int heads = tiling_of(args, kDecodeHeads, 1).heads;
    const bool has_halves = decode_halves_serves(args, heads, shared_bytes);
    const bool has_drafts =
        !takes_rows_alone(stream, args) && decode_halves_serves(args, kDraftRows, shared_bytes);
    Pass answers{has_halves ? run_decode_halves : run_decode,
                 1,
                 kMostDecodeRows,
                 kDecodeHeads,
                 1,
                 has_halves || heads > kDecodeHeads / 2 ? 2 : 3,
                 n_split_tokens,
                 room,
                 scratch_of(stream)};
    if (has_drafts) {
      answers.most_rows = 1;
      Pass drafts = answers;
      drafts.least_rows = 2;
      drafts.most_rows = kMostDecodeRows;
      drafts.tile_rows = kDraftRows;
      drafts.max_tile_tokens = kMostDraftTokens;
      drafts.resident = 1;
      if (has_few && batch.most_rows == 1) {
        run_pass(stream, args, answers);
      } else if (has_few && batch.least_rows > 1) {
        run_pass(stream, args, drafts);
      } else if (has_few) {
        run_halves(stream, args, answers, drafts);
      }
    } else if (has_few) {
      run_pass(stream, args, answers);
    }
    plain.least_rows = kMostDecodeRows + 1;
  }
  if (has_prefill) {
    run_pass(stream, args,
             {run_prefill, kMostDecodeRows + 1, kAny, kPrefillRows, kPrefillRows, 2, many_rows(args),
              prefill_room(args), scratch_of(stream) + room.bytes(args)});
    plain.most_rows = kMostDecodeRows;
  }
  const bool has_rest =
      plain.least_rows > kMostDecodeRows ? has_many && !has_prefill : has_few || !has_prefill;
  if (has_rest) run_pass(stream, args, plain);
}

}  // namespace

void fill_attention(OpTable& table) {
  fill_plain_formats(table.attention, {run_attention, scratch_of_attention});
}

}  // namespace parlance::cuda
