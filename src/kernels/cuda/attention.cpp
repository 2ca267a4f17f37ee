// attention on CUDA: which kernel serves a batch, and how its work is shared among blocks.
#include "kernels/cuda/attention/attention.h"

#include "base/checked.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/sketches.h"

namespace parlance::cuda {

namespace {

using namespace attention;

constexpr int64_t kMaxBlocks = 640;  // that sharing segments aims for, on the largest GPU
constexpr size_t kAlignment = 256;

// Tokens whose segments several blocks may share: results of the segments lie in scratch memory meanwhile.
// Answers come first in a batch; beside a prompt there are few.
constexpr int kMostSplitDecodeTokens = 64, kSplitTokensBesidePrompt = 16;

// Answers whose heads attention itself prepares.
constexpr int64_t kMostPreparedTokens = 64;

Tiling tiling_of(const AttentionArgs& args, int rows, int max_tokens) {
  const auto group = static_cast<int>(args.q.ne[1] / args.kv.n_head_kv);
  const int heads = div_up(group, div_up(group, rows));
  const int tokens = std::clamp(rows / heads, 1, max_tokens);
  return {heads, div_up(group, heads), tokens, static_cast<int>(div_up<int64_t>(args.q.ne[2], tokens))};
}

// Segments of a row in any batch up to this bound on positions.
int64_t most_decode_segments(const AttentionArgs& args) {
  const int most = most_segments_of(args.kv.n_head_kv);
  return std::clamp<int64_t>(
      div_up<int64_t>(args.batch.n_kv_bound, segment_keys(1, 1, kMostCountedRows, most)), 1, most);
}

bool is_decode_only(const AttentionArgs& args) {
  return args.q.ne[2] <= kMostDecodeRows;
}

// Keys up to which a draft's rows are faster each by itself, and those from which on it pays that they share
// all that is read.
constexpr int64_t kFewKeys = 256, kManyKeys = 2048;

// Whether every row is taken as an answer's.
bool takes_rows_alone(Stream& stream, const AttentionArgs& args) {
  return args.q.ne[2] == 1 || gpu_of(stream).is_deterministic;
}

// Attention over the keys of a sequence, or over those in one kind of its pages.
struct Task {
  AttentionArgs args;  // of stored values, where they are compressed
  const int32_t* main_pages = nullptr;
  bool is_exact = false;
  bool is_packed = false;   // rows are unpacked on their way, where a kernel can
  float2* stats = nullptr;  // see Params
  std::byte* scratch = nullptr;
  KvTransform k_transform = KvTransform::none;  // that queries still have to go through, see Params
  Preparation preparation = {};
};

bool has_prefill_kernel(const Task& task) {
  return task.is_packed ? prefill_packed_serves(task.args) : prefill_serves(task.args);
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

PartialRoom prefill_room(const Task& task) {
  const AttentionArgs& args = task.args;
  const int64_t n_tokens = is_decode_only(args) || !has_prefill_kernel(task) ? 0 : args.q.ne[2];
  return {std::min<int64_t>(n_tokens, many_rows(args)), kMostPrefillSegments};
}

size_t scratch_of_task(const Task& task) {
  return decode_room(task.args).bytes(task.args) + prefill_room(task).bytes(task.args);
}

Params params_of(const Task& task) {
  constexpr float kLog2E = 1.44269504088896f;
  const AttentionArgs& args = task.args;
  const KvView& kv = args.kv;
  Params p;
  p.q = args.q.as<const float>();
  p.k_transform = task.k_transform;
  p.preparation = task.preparation;
  p.out = args.out.as<float>();
  p.pages = kv.pages;
  p.page_table = kv.page_table.as<const int32_t>();
  p.seq = args.batch.seq.as<const int32_t>();
  p.pos = args.batch.pos.as<const int32_t>();
  p.first = args.batch.first.as<const int32_t>();
  p.main_pages = task.main_pages;
  p.is_exact = task.is_exact;
  p.k_format = kv.k.format;
  p.v_format = kv.v.format;
  p.stats = task.stats;
  p.max_pages = kv.page_table.ne[0];
  p.page_bytes = static_cast<int64_t>(kv.page_bytes);
  p.v_start = static_cast<int64_t>(kv.v_offset(0));
  p.page_tokens = kv.page_tokens;
  p.k_row_bytes = static_cast<int>(kv.k_row_bytes);
  p.v_row_bytes = static_cast<int>(kv.v_row_bytes);
  p.head_dim_k = static_cast<int>(kv.head_dim_k);
  p.head_dim_v = static_cast<int>(kv.head_dim_v);
  p.n_head = static_cast<int>(args.q.ne[1]);
  p.n_head_kv = static_cast<int>(kv.n_head_kv);
  p.group = static_cast<int>(args.q.ne[1] / kv.n_head_kv);
  p.n_tokens = static_cast<int>(args.q.ne[2]);
  p.scale = args.scale * kLog2E;
  return p;
}

// Keys of the block that has most, where so many share them in segments: see SegmentRange.
int64_t longest_share(int64_t n_keys, int64_t segment_keys, int64_t splits) {
  const int64_t n_segments = div_up(n_keys, segment_keys), n_less = n_segments / splits,
                n_more = n_segments % splits;
  const int64_t of_last = n_keys - n_segments * (splits - 1) / splits * segment_keys;
  return std::max(of_last, (n_less + (n_more > 1 ? 1 : 0)) * segment_keys);
}

// Blocks that share the segments of a row, so that every multiprocessor is busy with `resident` of them, and
// for the least time. Of drafts and prompts whose rows are more than that, in so many rounds that nobody
// waits long for the last one.
int splits_of(const AttentionArgs& args, const Tiling& tiling, int n_tiles, int64_t most, int resident,
              const Gpu& gpu) {
  // Keys that a block might have had while it starts, and while the results of several are put together; and
  // those that the bound is above what there is, about.
  constexpr int64_t kRounds = 4, kKeysOfStart = 200, kKeysOfMerge = 256, kBeyond = 128;
  const int64_t blocks = std::min<int64_t>(resident * gpu.n_multiprocessors, kMaxBlocks);
  const int64_t passes = n_tiles * args.kv.n_head_kv * tiling.parts;
  if (passes > blocks && tiling.tokens > 1)
    return static_cast<int>(std::clamp<int64_t>(div_up(kRounds * blocks, passes), 1, most));
  const auto n_keys = static_cast<int>(args.batch.n_kv_bound);
  const int64_t n_fewer = std::max<int64_t>(n_keys - kBeyond, 1);
  const int64_t keys = segment_keys(1, n_keys, kMostCountedRows, most_segments_of(args.kv.n_head_kv));
  int64_t best = 1, least = INT64_MAX;
  for (int64_t splits = 1; splits <= most; ++splits) {
    const int64_t rounds = div_up(std::max<int64_t>(passes, 1) * splits, blocks);
    const int64_t share = (longest_share(n_keys, keys, splits) + longest_share(n_fewer, keys, splits)) / 2;
    const int64_t time = rounds * (share + kKeysOfStart) + (splits > 1 ? kKeysOfMerge : 0);
    if (time < least) best = splits, least = time;
  }
  return static_cast<int>(best);
}

// Blocks that share a row's exact pages: a window has few segments.
constexpr int kMostExactSplits = 4;

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

Params params_of(Stream& stream, const Task& task, const Pass& pass) {
  const AttentionArgs& args = task.args;
  Params p = params_of(task);
  p.is_decode = takes_rows_alone(stream, args);
  p.are_alone = p.is_decode || args.batch.most_rows == 1;
  p.many_rows = many_rows(args);
  p.most_segments = most_segments_of(args.kv.n_head_kv);
  p.least_rows = pass.least_rows;
  p.most_rows = pass.most_rows;
  p.tiling = tiling_of(args, pass.tile_rows, pass.max_tile_tokens);
  const int n_split_tiles = std::min(pass.n_split_tokens / p.tiling.tokens, p.tiling.n_tiles);
  p.n_splits =
      splits_of(args, p.tiling, n_split_tiles, pass.room.max_segments, pass.resident, gpu_of(stream));
  if (task.is_exact) p.n_splits = std::min(p.n_splits, kMostExactSplits);
  p.n_split_tokens = n_split_tiles * p.tiling.tokens;
  p.partials.stats = reinterpret_cast<float2*>(pass.scratch);
  p.partials.out = reinterpret_cast<float*>(pass.scratch + pass.room.stats_bytes(args));
  p.partials.max_segments = static_cast<int>(pass.room.max_segments);
  return p;
}

void run_pass(Stream& stream, const Task& task, const Pass& pass) {
  Params p = params_of(stream, task, pass);
  const bool is_shared = p.n_splits > 1;
  if (!is_shared) p.n_split_tokens = 0;
  pass.run(stream, p, task.args);
  if (is_shared) run_merge(stream, p);
}

// Answers, and drafts, whose rows share what is read: by two kernels, whose segments are put together in one
// go.
void run_halves(Stream& stream, const Task& task, const Pass& answers, const Pass& drafts) {
  Params p = params_of(stream, task, answers), of_drafts = params_of(stream, task, drafts);
  const bool is_shared = p.n_splits > 1;
  if (!is_shared) p.n_split_tokens = 0, of_drafts.n_splits = 1;
  of_drafts.n_split_tokens = p.n_split_tokens;
  answers.run(stream, p, task.args);
  drafts.run(stream, of_drafts, task.args);
  p.most_rows = drafts.most_rows;
  if (is_shared) run_merge(stream, p);
}

void run_task(Stream& stream, const Task& task) {
  const AttentionArgs& args = task.args;
  const int64_t n_tokens = args.q.ne[2];
  constexpr int kAny = 1 << 30;
  const PartialRoom room = decode_room(args);
  const int n_split_tokens =
      n_tokens <= kMostSplitDecodeTokens ? kMostSplitDecodeTokens : kSplitTokensBesidePrompt;
  Pass plain{run_plain, 1, kAny, kPlainRows, kPlainRows, 3, n_split_tokens, room, task.scratch};
  if (args.batch.first) return run_pass(stream, task, plain);
  const bool is_decode = is_decode_only(args) || gpu_of(stream).is_deterministic;
  const BatchView& batch = args.batch;
  const bool has_few = takes_rows_alone(stream, args) || batch.least_rows <= kMostDecodeRows;
  const bool has_many = !is_decode && batch.most_rows > kMostDecodeRows;
  const bool has_prefill = has_many && has_prefill_kernel(task);
  const size_t shared_bytes = gpu_of(stream).shared_bytes_per_block;
  const auto serves = task.is_packed ? decode_packed_serves : decode_halves_serves;
  const int heads = tiling_of(args, kDecodeHeads, 1).heads;
  const bool on_tensor_cores = serves(args, heads, shared_bytes);
  if (on_tensor_cores || (!task.is_packed && decode_serves(args))) {
    // Where there are many keys, drafts have a kernel of their own.
    const bool is_deep =
        !task.is_packed && args.batch.n_kv_bound > kManyKeys && draft_halves_serves(args, shared_bytes);
    const bool has_drafts = !takes_rows_alone(stream, args) && args.batch.n_kv_bound > kFewKeys &&
                            (is_deep || serves(args, kDraftRows, shared_bytes));
    Pass answers{!on_tensor_cores ? run_decode
                 : task.is_packed ? run_decode_packed
                                  : run_decode_halves,
                 1,
                 kMostDecodeRows,
                 kDecodeHeads,
                 1,
                 on_tensor_cores || heads > kDecodeHeads / 2 ? 2 : 3,
                 n_split_tokens,
                 room,
                 task.scratch};
    if (has_drafts) {
      answers.most_rows = 1;
      Pass drafts = answers;
      drafts.least_rows = 2;
      drafts.most_rows = kMostDecodeRows;
      drafts.tile_rows = is_deep ? kMostDraftRows : kDraftRows;
      drafts.max_tile_tokens =
          std::min(power_of_two_from(static_cast<int>(batch.most_rows)), kMostDraftTokens);
      drafts.resident = 1;
      if (is_deep) {
        const Tiling tiling = tiling_of(args, kMostDraftRows, drafts.max_tile_tokens);
        drafts.resident = std::max(1, kMostDraftRows / (tiling.heads * tiling.tokens));
        drafts.run = run_draft_halves;
      }
      if (has_few && batch.most_rows == 1) {
        run_pass(stream, task, answers);
      } else if (has_few && batch.least_rows > 1) {
        run_pass(stream, task, drafts);
      } else if (has_few) {
        run_halves(stream, task, answers, drafts);
      }
    } else if (has_few) {
      run_pass(stream, task, answers);
    }
    plain.least_rows = kMostDecodeRows + 1;
  }
  if (has_prefill) {
    const bool is_wide = prefill_wide_serves(args, gpu_of(stream));
    const int tile_rows = is_wide ? kWidePrefillRows : kPrefillRows;
    run_pass(stream, task,
             {is_wide          ? run_prefill_wide
              : task.is_packed ? run_prefill_packed
                               : run_prefill,
              kMostDecodeRows + 1, kAny, tile_rows, tile_rows, is_wide ? 1 : 2, many_rows(args),
              prefill_room(task), task.scratch + room.bytes(args)});
    plain.most_rows = kMostDecodeRows;
  }
  const bool has_rest =
      plain.least_rows > kMostDecodeRows ? has_many && !has_prefill : has_few || !has_prefill;
  if (has_rest) run_pass(stream, task, plain);
}

// Whether keys and values meet queries as they are, all in pages of one kind. Bytes of q8_0 are unpacked like
// other codes, where that can be.
bool is_plain(const AttentionArgs& args) {
  const KvView& kv = args.kv;
  const auto is_plain = [](const KvCoding& coding) {
    return coding.format <= KvFormat::q8_0 && coding.transform() == KvTransform::none;
  };
  const bool has_bytes = kv.k.format == KvFormat::q8_0 || kv.v.format == KvFormat::q8_0;
  return is_plain(kv.k) && is_plain(kv.v) && !kv.exact &&
         !(has_bytes && !args.batch.first && prefill_packed_serves(args));
}

// Attention over compressed keys and values: in main pages, in the domain of stored values; in exact pages;
// then both joined. All of it in scratch memory.
struct CompressedTasks {
  Task main, exact;
  float* queries = nullptr;  // as they meet stored keys; null: as they are
  size_t bytes = 0;

  CompressedTasks(const AttentionArgs& args, std::byte* scratch) {
    const KvView& kv = args.kv;
    const int64_t n_rows = args.q.ne[1] * args.q.ne[2];
    const auto take = [&](int64_t n_floats) {
      std::byte* const taken = scratch ? scratch + bytes : nullptr;
      bytes += align_up(static_cast<size_t>(n_floats) * sizeof(float), kAlignment);
      return taken;
    };
    const auto leave_sums = [&](Task& task) {
      task.args.out.data = take(n_rows * task.args.kv.head_dim_v);
      task.stats = reinterpret_cast<float2*>(take(2 * n_rows));
      task.main_pages = kv.main_pages.as<const int32_t>();
    };
    main = {.args = args};
    main.args.kv.exact = nullptr;
    main.args.kv.head_dim_k = stored_elements(kv.k.transform(), kv.head_dim_k);
    main.args.kv.head_dim_v = stored_elements(kv.v.transform(), kv.head_dim_v);
    if (kv.k.transform() != KvTransform::none) {
      main.args.q.data = take(n_rows * main.args.kv.head_dim_k);
      main.args.q.ne[0] = main.args.kv.head_dim_k;
      queries = main.args.q.as<float>();
    }
    main.is_packed = !prefill_serves(main.args);  // 16-bit floats, rotated or beside exact pages, need not be
    leave_sums(main);
    if (kv.exact) {
      exact = {.args = args, .is_exact = true, .is_packed = main.is_packed};
      exact.args.kv = *kv.exact;
      leave_sums(exact);
    }
    main.scratch = scratch ? scratch + bytes : nullptr;
    bytes += scratch_of_task(main);
    if (!kv.exact) return;
    exact.scratch = scratch ? scratch + bytes : nullptr;
    bytes += scratch_of_task(exact);
  }
};

// Answers and drafts, with both kinds of pages in one go: where kernels on tensor cores serve all of it.
bool joins(Stream& stream, const CompressedTasks& tasks) {
  const AttentionArgs& args = tasks.main.args;
  const bool is_decode =
      is_decode_only(args) || args.batch.most_rows <= kMostDecodeRows || gpu_of(stream).is_deterministic;
  const size_t shared_bytes = gpu_of(stream).shared_bytes_per_block;
  const bool has_exact = tasks.exact.args.q.data;
  const auto serves = [&](int n_rows) {
    return tasks.main.is_packed && decode_packed_serves(args, n_rows, shared_bytes) &&
           (!has_exact || decode_packed_serves(tasks.exact.args, n_rows, shared_bytes));
  };
  return is_decode && !args.batch.first && serves(tiling_of(args, kDecodeHeads, 1).heads) &&
         (takes_rows_alone(stream, args) || serves(kDraftRows));
}

bool is_sketch(KvTransform transform) {
  return transform == KvTransform::sketch || transform == KvTransform::sketch_least_squares;
}

QueryTransform transform_of(Stream& stream, KvTransform transform) {
  return {transform, sketch_of(stream, transform)};
}

void transform_queries(Stream& stream, const AttentionArgs& args, const CompressedTasks& tasks) {
  run_transform_queries(stream, transform_of(stream, args.kv.k.transform()), args.q.as<const float>(),
                        tasks.queries, static_cast<int>(args.kv.head_dim_k), args.q.ne[1] * args.q.ne[2]);
}

void run_joined(Stream& stream, const AttentionArgs& args, const CompressedTasks& tasks,
                const Preparation& preparation = {}) {
  const BatchView& batch = args.batch;
  const bool has_exact = tasks.exact.args.q.data, is_alone = takes_rows_alone(stream, args);
  const int n_split_tokens =
      args.q.ne[2] <= kMostSplitDecodeTokens ? kMostSplitDecodeTokens : kSplitTokensBesidePrompt;
  Task main = tasks.main;
  main.preparation = preparation;
  if (is_sketch(args.kv.k.transform())) {
    transform_queries(stream, args, tasks);
  } else if (tasks.queries) {
    main.args.q = args.q;
    main.k_transform = args.kv.k.transform();
  }
  const auto params_of_pass = [&](const Task& task, bool is_draft) {
    const Pass pass{nullptr,
                    is_draft ? 2 : 1,
                    is_draft || is_alone ? kMostDecodeRows : 1,
                    is_draft ? kDraftRows : kDecodeHeads,
                    is_draft ? kMostDraftTokens : 1,
                    is_draft ? 1 : 2,
                    n_split_tokens,
                    decode_room(task.args),
                    task.scratch};
    return params_of(stream, task, pass);
  };
  // What is not shared by several blocks is left as sums.
  const auto settle = [](Params& answers, Params& drafts) {
    if (answers.n_splits == 1) answers.n_split_tokens = 0, drafts.n_splits = 1;
    drafts.n_split_tokens = answers.n_split_tokens;
  };
  Params answers = params_of_pass(main, false), drafts = params_of_pass(main, true);
  settle(answers, drafts);
  Params exact_answers{}, exact_drafts{};
  if (has_exact) {
    exact_answers = params_of_pass(tasks.exact, false), exact_drafts = params_of_pass(tasks.exact, true);
    settle(exact_answers, exact_drafts);
  }
  if (preparation.k && answers.n_splits == 1) {
    answers.out = args.out.as<float>();
    answers.stats = nullptr;
    answers.preparation.is_joined = true;
    answers.preparation.of_values = args.kv.v.transform();
    return run_decode_packed(stream, answers, main.args);
  }
  const auto run = [&](const Params& of_main, const Params& of_exact) {
    if (has_exact) {
      run_decode_joined(stream, of_main, of_exact, main.args, tasks.exact.args.kv);
    } else {
      run_decode_packed(stream, of_main, main.args);
    }
  };
  if (is_alone || batch.least_rows == 1) run(answers, exact_answers);
  if (!is_alone && batch.most_rows > 1) run(drafts, exact_drafts);
  answers.most_rows = exact_answers.most_rows = kMostDecodeRows;
  run_merge_and_join(stream, answers, exact_answers, args.kv.v.transform(), args.out.as<float>());
}

void run_compressed(Stream& stream, const AttentionArgs& args) {
  const CompressedTasks tasks(args, scratch_of(stream));
  if (joins(stream, tasks)) return run_joined(stream, args, tasks);
  if (tasks.queries) transform_queries(stream, args, tasks);
  run_task(stream, tasks.main);
  if (args.kv.exact) run_task(stream, tasks.exact);
  Params p = params_of({.args = args, .main_pages = tasks.main.main_pages});
  const auto sums_of = [](const Task& task) { return Sums{task.args.out.as<const float>(), task.stats}; };
  run_join(stream, p, sums_of(tasks.main), transform_of(stream, args.kv.v.transform()),
           args.kv.exact ? sums_of(tasks.exact) : Sums{});
}

size_t scratch_of_attention(const AttentionArgs& args, int) {
  return is_plain(args) ? scratch_of_task({.args = args}) : CompressedTasks(args, nullptr).bytes;
}

void run_attention(Stream& stream, const AttentionArgs& args) {
  if (args.q.ne[2] == 0) return;
  if (!is_plain(args)) return run_compressed(stream, args);
  run_task(stream, {.args = args, .scratch = scratch_of(stream)});
}

// Whether the kernel for answers' rows prepares what it attends with.
bool prepares(Stream& stream, const FusedAttentionArgs& args) {
  const AttentionArgs& attention = args.attention;
  const KvView& kv = attention.kv;
  const bool are_alone = attention.q.ne[2] == 1 || attention.batch.most_rows == 1;
  if (!are_alone || attention.q.ne[2] > kMostPreparedTokens || attention.batch.first || kv.exact ||
      kv.main_pages || kv.head_dim_k != kPreparedDim || args.write.style != RopeStyle::halves ||
      2 * args.write.angles.ne[0] != kPreparedDim)
    return false;
  const size_t shared_bytes = gpu_of(stream).shared_bytes_per_block;
  const int heads = tiling_of(attention, kDecodeHeads, 1).heads;
  if (is_plain(attention)) return !kv.q_scale && decode_halves_prepares(attention, heads, shared_bytes);
  const auto is_rotated = [](const KvCoding& coding) { return coding.transform() == KvTransform::hadamard; };
  const CompressedTasks tasks(attention, nullptr);
  return !is_rotated(kv.k) && !is_rotated(kv.v) && joins(stream, tasks) &&
         decode_packed_prepares(tasks.main.args, heads, shared_bytes);
}

void run_prepared(Stream& stream, const FusedAttentionArgs& args) {
  const NormRopeWriteArgs& write = args.write;
  const KvView& kv = write.write.kv;
  if (!prepares(stream, args)) {
    op_table().norm_rope_write[static_cast<size_t>(kv.k.format)][static_cast<size_t>(kv.v.format)].run(stream,
                                                                                                       write);
    return run_attention(stream, args.attention);
  }
  const Preparation preparation{.k = write.write.k.as<const float>(),
                                .v = write.write.v.as<const float>(),
                                .q_norm = write.q_norm.as<const float>(),
                                .k_norm = write.k_norm.as<const float>(),
                                .angles = write.angles.as<const float>(),
                                .eps = write.eps,
                                .is_k_searched = kv.k.encoder == KvEncoder::search,
                                .is_v_searched = kv.v.encoder == KvEncoder::search,
                                .k_shift = kv.k_shift.as<const float>(),
                                .k_scale = kv.k_scale.as<const float>(),
                                .q_scale = kv.q_scale.as<const float>(),
                                .is_joined = false,
                                .of_values = KvTransform::none};
  if (!is_plain(args.attention))
    return run_joined(stream, args.attention, CompressedTasks(args.attention, scratch_of(stream)),
                      preparation);
  run_task(stream, {.args = args.attention, .scratch = scratch_of(stream), .preparation = preparation});
}

size_t scratch_of_prepared(const FusedAttentionArgs& args, int n_threads) {
  return scratch_of_attention(args.attention, n_threads);
}

}  // namespace

const Cell<FusedAttentionArgs>& fused_attention() {
  static constexpr Cell<FusedAttentionArgs> kCell{run_prepared, scratch_of_prepared};
  return kCell;
}

void fill_attention(OpTable& table) {
  for (auto& row : table.attention) row.fill({run_attention, scratch_of_attention});
}

}  // namespace parlance::cuda
