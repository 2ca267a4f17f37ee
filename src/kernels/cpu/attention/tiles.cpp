// Attention in tiles: which query rows share a pass over which keys, on which thread, and how the parts of a
// long pass are put together again. An online softmax (Milakov and Gimelshein, 2018) makes the parts
// independent.
//
// What a row finds is the same bits whichever rows share its tile and however keys are split: keys are taken
// in pieces of kPieceKeys positions, counted from 0, and pieces are put together as the leaves of a binary
// tree, first 0 and 1, 2 and 3, then 0 to 1 and 2 to 3. A piece that a row sees nothing of changes nothing. A
// split is a branch of the tree. Pages before the first key that any row sees are left out; what of the
// others lies before a row's first key has the lowest score there is, whose weight is nothing beside that of
// a key.
//
// Values that are no numbers (a damaged model or cache) show in the rows that see them, and in no others:
// where an item's furthest row shows one, all of the item is done once more with damage.h.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "kernels/cpu/attention/damage.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/attention/pieces.h"
#include "kernels/cpu/cpu_stream.h"

namespace parlance::attention {

namespace {

// A pass over keys is split when it is more than this part of a thread's share of the work ...
constexpr int64_t kItemsPerThread = 8;
// ... and into parts of whole pieces. Smaller ones would cost: each row's sums are put together after each.
constexpr int64_t kPieceKeys = 1024;
static_assert(kPieceKeys % kKeyBlock == 0);
// Work, in units of cost_of(), that is worth handing to another thread: a few microseconds.
constexpr int64_t kLeastTaskCost = 1 << 17;

// Consecutive tokens of one sequence, whose query heads of a group share the passes over keys and values.
struct TokenRun {
  int64_t first_token;
  int64_t n_tokens;
  int64_t first_key;     // of the page in which the first one lies that any of them sees
  int64_t n_keys;        // that the furthest of them sees, from position 0
  bool is_of_few;        // its sequence has few tokens in the batch, and few heads share a key
  int64_t n_splits;      // parts that the keys are worked on in
  int64_t split_pieces;  // of one part, a power of two
  int64_t first_item;    // of the run, in the numbering of all items
  int64_t first_slot;    // of the run's partial results; runs with one split have none
  int64_t first_group;   // of the run's counters of finished splits
};

// How heads and tokens make rows of tiles.
struct Grouping {
  explicit Grouping(const AttentionArgs& args) {
    const int64_t group = args.q.ne[1] / args.kv.n_head_kv;
    const int64_t n_parts = div_up(group, kTileRows);
    heads = div_up(group, n_parts);
    parts_per_group = div_up(group, heads);
    n_passes = args.kv.n_head_kv * parts_per_group;
    tokens = std::max<int64_t>(1, kTileRows / heads);
    max_rows = std::min(tokens, std::max<int64_t>(args.q.ne[2], 1)) * heads;
    const int64_t n_pieces = div_up(std::max<int64_t>(args.batch.n_kv_bound, 1), kPieceKeys);
    n_levels = std::bit_width(static_cast<uint64_t>(n_pieces));
  }
  int64_t heads;            // query heads of a tile (the last of a group may have fewer)
  int64_t parts_per_group;  // more than one only for groups larger than a tile
  int64_t n_passes;         // tiles of each run of tokens
  int64_t tokens;           // most tokens of a tile
  int64_t max_rows;
  int n_levels;  // of branches of pieces that may wait for others
};

// Where things lie in the stream's scratch memory.
struct ScratchLayout {
  ScratchLayout(const AttentionArgs& args, int n_threads, const Kernels& kernels)
      : grouping(args), total_stride(align_up(args.kv.head_dim_v, kStrideElements)) {
    const auto rows = static_cast<size_t>(grouping.max_rows);
    size_t query_bytes = 0, workspace = 0, v_row_bytes = 0;
    for (const KvView* kv : {&args.kv, args.kv.exact}) {
      if (!kv) continue;
      const int64_t stored_k = stored_elements(kv->k.transform(), kv->head_dim_k);
      const int64_t stored_v = stored_elements(kv->v.transform(), kv->head_dim_v);
      stored = std::max({stored, stored_k, stored_v});
      out_stride = std::max(out_stride, align_up(stored_v, kStrideElements));
      v_row_bytes = std::max(v_row_bytes, kv->v_row_bytes);
      for (const auto* by_format : {&kernels.few, &kernels.many}) {
        const KeyKernels& keys = (*by_format)[static_cast<size_t>(kv->k.format)].keys;
        const ValueKernels& values = (*by_format)[static_cast<size_t>(kv->v.format)].values;
        query_bytes = std::max(query_bytes, keys.query_bytes(stored_k));
        workspace = std::max({workspace, keys.workspace_bytes(stored_k), values.workspace_bytes(stored_v)});
      }
    }
    const auto floats = [](size_t n) { return align_up(n * sizeof(float), kLine); };
    // Every pass that is split costs more than 1 / (kItemsPerThread * n_threads) of the whole.
    const auto max_groups = static_cast<size_t>(kItemsPerThread * n_threads);
    const size_t max_slots = 2 * max_groups + 1;
    runs = 0;
    counters = runs + align_up(static_cast<size_t>(args.q.ne[2]) * sizeof(TokenRun), kLine);
    slots = counters + align_up(max_groups * sizeof(int32_t), kLine);
    slot_bytes = floats(rows * static_cast<size_t>(total_stride)) + 2 * floats(rows);
    threads = slots + max_slots * slot_bytes;
    damage = static_cast<size_t>(grouping.n_levels + 1) * slot_bytes +
             2 * floats(static_cast<size_t>(stored)) + align_up(rows * query_bytes, kLine) +
             floats(rows * static_cast<size_t>(out_stride)) + floats(rows * kKeyBlock) + 5 * floats(rows) +
             align_up(workspace, kLine);
    thread_bytes = damage + Damage::bytes(grouping.max_rows, stored, v_row_bytes);
    total = threads + static_cast<size_t>(n_threads) * thread_bytes;
  }

  Grouping grouping;
  int64_t total_stride;    // of rows of results
  int64_t out_stride = 0;  // of rows of sums of stored values
  int64_t stored = 0;      // most stored values of a key or value
  size_t runs, counters, slots, threads, total;
  size_t damage;  // of a thread's bytes
  size_t slot_bytes, thread_bytes;
};

// A pass over n_keys: reading a key and its value costs about as much as eight rows' arithmetic on them.
int64_t cost_of(int64_t n_keys, int64_t n_rows, const AttentionArgs& args) {
  return n_keys * (n_rows + 8) * (args.kv.head_dim_k + args.kv.head_dim_v) / 2;
}

class TiledAttention {
 public:
  TiledAttention(Stream& stream, const AttentionArgs& args, const Kernels& kernels)
      : pool_(pool_of(stream)),
        args_(args),
        kernels_(kernels),
        layout_(args, pool_.n_threads(), kernels),
        grouping_(layout_.grouping),
        scratch_(stream.scratch().data()),
        runs_(reinterpret_cast<TokenRun*>(scratch_ + layout_.runs)),
        counters_(reinterpret_cast<int32_t*>(scratch_ + layout_.counters)),
        seq_(args.batch.seq.as<const int32_t>()),
        pos_(args.batch.pos.as<const int32_t>()),
        first_(args.batch.first.as<const int32_t>()) {
    assert(stream.scratch().size() >= layout_.total);
  }

  void run() {
    find_runs();
    if (n_runs_ == 0) return;
    split_runs();
    const int64_t n_tasks = std::clamp<int64_t>(total_cost_ / kLeastTaskCost, 1, n_items_);
    pool_.run(n_tasks, [this, n_tasks](int64_t task, int thread) {
      // Later tokens see more keys: they are taken first, so that the last items are short ones.
      for (int64_t i = task; i < n_items_; i += n_tasks) {
        const int64_t next = i + n_tasks < n_items_ ? i + n_tasks : task + 1;
        work_on(n_items_ - 1 - i, n_items_ - 1 - next, thread);
      }
    });
  }

 private:
  void find_runs() {
    const int64_t n_tokens = args_.q.ne[2];
    int64_t first_of_seq = 0, end_of_seq = 0;
    for (int64_t token = 0; token < n_tokens;) {
      if (token == end_of_seq) {
        first_of_seq = token;
        while (end_of_seq < n_tokens && seq_[end_of_seq] == seq_[token]) ++end_of_seq;
      }
      TokenRun& run = runs_[n_runs_++];
      run = {};
      run.first_token = token;
      run.first_key = first_key_of(token);
      run.is_of_few = end_of_seq - first_of_seq <= kFewTokens && grouping_.heads < kManyRows;
      for (; token < n_tokens && run.n_tokens < grouping_.tokens && seq_[token] == seq_[run.first_token];
           ++token) {
        ++run.n_tokens;
        run.first_key = std::min(run.first_key, first_key_of(token));
        run.n_keys = std::max<int64_t>(run.n_keys, pos_[token] + int64_t{1});
      }
      total_cost_ += cost_of(run) * grouping_.n_passes;
    }
  }

  void split_runs() {
    const int64_t share = std::max<int64_t>(total_cost_ / (kItemsPerThread * pool_.n_threads()), 1);
    int64_t n_slots = 0, n_groups = 0;
    for (int64_t i = 0; i < n_runs_; ++i) {
      TokenRun& run = runs_[i];
      const int64_t wanted = pool_.n_threads() > 1 ? div_up(cost_of(run), share) : 1;
      const int64_t n_pieces = div_up(run.n_keys, kPieceKeys);
      const auto least_pieces = static_cast<uint64_t>(div_up(n_pieces, std::min(wanted, n_pieces)));
      run.split_pieces = static_cast<int64_t>(std::bit_ceil(least_pieces));
      run.n_splits = div_up(n_pieces, run.split_pieces);
      run.first_item = n_items_;
      run.first_slot = n_slots;
      run.first_group = n_groups;
      n_items_ += grouping_.n_passes * run.n_splits;
      if (run.n_splits > 1) {
        n_slots += grouping_.n_passes * run.n_splits;
        n_groups += grouping_.n_passes;
      }
    }
    std::fill_n(counters_, n_groups, 0);
  }

  int64_t first_key_of(int64_t token) const {
    return first_ ? first_[token] / args_.kv.page_tokens * args_.kv.page_tokens : 0;
  }

  int64_t cost_of(const TokenRun& run) const {
    return attention::cost_of(run.n_keys - run.first_key, run.n_tokens * grouping_.heads, args_);
  }

  // One tile of a run of tokens, against one part of its keys.
  struct Item {
    const TokenRun& run;
    int64_t pass;  // which tile of the run
    int64_t split;
    int64_t head_kv;
    int64_t first_head;
    int64_t n_heads;
    int64_t n_rows;
  };

  Item item_of(int64_t index) const {
    const TokenRun& run =
        *(std::upper_bound(runs_, runs_ + n_runs_, index,
                           [](int64_t value, const TokenRun& r) { return value < r.first_item; }) -
          1);
    const int64_t pass = (index - run.first_item) / run.n_splits;
    const int64_t group = args_.q.ne[1] / args_.kv.n_head_kv;
    const int64_t head_kv = pass / grouping_.parts_per_group;
    const int64_t first = pass % grouping_.parts_per_group * grouping_.heads;
    const int64_t n_heads = std::min(grouping_.heads, group - first);
    return {run,
            pass,
            (index - run.first_item) % run.n_splits,
            head_kv,
            head_kv * group + first,
            n_heads,
            run.n_tokens * n_heads};
  }

  // What rows have found so far, in the terms of head vectors: sum of 2^(score - largest) v.
  struct Totals {
    float* total;  // [n_rows][total_stride]
    float* largest;
    float* sum;
  };

  Totals take_totals(Pieces& pieces, int64_t n_rows) const {
    Totals totals{};
    totals.total = pieces.take<float>(n_rows * layout_.total_stride);
    totals.largest = pieces.take<float>(n_rows);
    totals.sum = pieces.take<float>(n_rows);
    return totals;
  }

  // Positions [first, first + n_keys) of one page.
  struct Block {
    int64_t first;
    int64_t n_keys;
    const std::byte* keys;
    const std::byte* values;
    size_t k_bytes;  // of all its keys
    size_t v_bytes;
  };

  // A thread's memory for an item.
  struct Work {
    Totals totals;     // of a piece, then of all
    Totals* waiting;   // [n_levels]: branches of pieces, each twice as long as the one before
    float* query;      // [stored]
    float* stored;     // [stored]
    const KvView* kv;  // whose queries the tile holds; null: none yet
    Block later;       // what is read behind the item's last keys
    Damage* damage;    // null: as if there were none
    Tile tile;
  };
  static constexpr int kMaxLevels = 64;

  std::byte* memory_of(int thread) const {
    return scratch_ + layout_.threads + static_cast<size_t>(thread) * layout_.thread_bytes;
  }

  Work work_of(const Item& item, int thread, Totals (&waiting)[kMaxLevels]) const {
    Pieces pieces(memory_of(thread));
    Work work{};
    work.totals = take_totals(pieces, item.n_rows);
    for (int level = 0; level < grouping_.n_levels; ++level)
      waiting[level] = take_totals(pieces, item.n_rows);
    work.waiting = waiting;
    work.query = pieces.take<float>(layout_.stored);
    work.stored = pieces.take<float>(layout_.stored);
    Tile& tile = work.tile;
    tile.n_rows = item.n_rows;
    take_rows(pieces, tile, layout_.out_stride);
    tile.queries = pieces.take<std::byte>(0);  // and the kernel's workspace behind them
    return work;
  }

  // Results of one part of a split pass.
  Totals slot_of(const Item& item, int64_t split) const {
    const int64_t index = item.run.first_slot + item.pass * item.run.n_splits + split;
    Pieces pieces(scratch_ + layout_.slots + static_cast<size_t>(index) * layout_.slot_bytes);
    return take_totals(pieces, item.n_rows);
  }

  // The thread most likely goes on with item `next`, if that is one.
  void work_on(int64_t index, int64_t next, int thread) const {
    const Item item = item_of(index);
    Totals waiting[kMaxLevels];
    Work work = work_of(item, thread, waiting);
    if (next >= 0 && next < n_items_) {
      const Item later = item_of(next);
      work.later = block_from(later, first_of(later));
    }
    visit(item, work);
    if (!is_of_numbers(item, work.totals)) {
      Damage damage(memory_of(thread) + layout_.damage, item.n_rows, layout_.stored);
      work.damage = &damage;
      visit(item, work);
    }
    if (item.run.n_splits == 1) {
      finish(item, work.totals);
      return;
    }
    copy(item, work.totals, slot_of(item, item.split));
    // Whoever comes last puts the parts together, so that nobody waits for anybody.
    std::atomic_ref<int32_t> n_finished(counters_[item.run.first_group + item.pass]);
    if (n_finished.fetch_add(1, std::memory_order_acq_rel) + 1 == item.run.n_splits) {
      finish(item, merge_splits(item));
    }
  }

  // Whether no value that an item has met is NaN or infinite: a kernel lets it show in each row that sees it,
  // and the token that is furthest in the text sees all that any token does. Where scores are none, too, this
  // may say no.
  bool is_of_numbers(const Item& item, const Totals& totals) const {
    const int32_t* pos = pos_ + item.run.first_token;
    const int64_t furthest = std::max_element(pos, pos + item.run.n_tokens) - pos;
    const float* total = totals.total + furthest * item.n_heads * layout_.total_stride;
    return std::all_of(total, total + args_.kv.head_dim_v, [](float x) { return std::isfinite(x); });
  }

  // All pieces of an item, put together in work.totals.
  void visit(const Item& item, Work& work) const {
    const int64_t first = item.split * item.run.split_pieces * kPieceKeys;
    const int64_t last = end_of(item);
    uint64_t n_pieces = 0;
    for (int64_t piece = first; piece < last; piece += kPieceKeys, ++n_pieces) {
      visit_piece(item, work, piece, last);
      int level = 0;
      for (; n_pieces >> level & 1; ++level) {
        merge(item, work.waiting[level], work.totals);
        std::swap(work.waiting[level], work.totals);
      }
      std::swap(work.waiting[level], work.totals);
    }
    const int lowest = std::countr_zero(n_pieces);
    std::swap(work.waiting[lowest], work.totals);
    for (int level = lowest + 1; n_pieces >> level; ++level) {
      if (!(n_pieces >> level & 1)) continue;
      merge(item, work.waiting[level], work.totals);
      std::swap(work.waiting[level], work.totals);
    }
  }

  // The first position of an item that a row sees, and the one behind its last.
  int64_t first_of(const Item& item) const {
    return std::max(item.split * item.run.split_pieces * kPieceKeys, item.run.first_key);
  }
  int64_t end_of(const Item& item) const {
    return std::min(item.run.n_keys, (item.split + 1) * item.run.split_pieces * kPieceKeys);
  }

  // Where there are exact pages: the positions of the item's sequence that lie in the others.
  std::pair<int64_t, int64_t> main_positions(const Item& item) const {
    const KvView& kv = args_.kv;
    const int32_t* main_pages = kv.main_pages.as<const int32_t>() + 2 * seq_[item.run.first_token];
    const int64_t first = int64_t{main_pages[0]} * kv.page_tokens;
    return {first, std::max(first, int64_t{main_pages[1]} * kv.page_tokens)};
  }

  // The positions of the piece that begins at `first`, in segments that lie in pages of one kind; the item
  // goes on to `last`.
  void visit_piece(const Item& item, Work& work, int64_t first, int64_t last) const {
    const KvView& kv = args_.kv;
    const int64_t end = std::min(last, first + kPieceKeys);
    forget_scores(work.tile);
    bool is_first = true;
    const auto visit_segment = [&](const KvView& pages, int64_t from, int64_t to) {
      from = std::max({from, first, item.run.first_key});
      to = std::min(to, last);
      if (from >= std::min(to, end)) return;
      start(item, pages, work);
      visit_keys(item, pages, work, from, std::min(to, end));
      add_to_totals(item, pages, work, is_first);
      is_first = false;
    };
    if (!kv.exact) {
      visit_segment(kv, 0, last);
    } else {
      const auto [main_first, main_last] = main_positions(item);
      visit_segment(*kv.exact, 0, main_first);
      visit_segment(kv, main_first, main_last);
      visit_segment(*kv.exact, main_last, last);
    }
    if (is_first) see_nothing(item, work.totals);
  }

  void see_nothing(const Item& item, const Totals& totals) const {
    std::fill_n(totals.total, item.n_rows * layout_.total_stride, 0.0f);
    std::fill_n(totals.largest, item.n_rows, std::numeric_limits<float>::lowest());
    std::fill_n(totals.sum, item.n_rows, 0.0f);
  }

  const FormatKernels& kernels_of(KvFormat format, const Item& item) const {
    return (item.run.is_of_few ? kernels_.few : kernels_.many)[static_cast<size_t>(format)];
  }

  // Makes the tile ready for a segment: no sums yet, and the queries prepared. Rows of a tile are token by
  // token, the heads of a token next to each other.
  void start(const Item& item, const KvView& kv, Work& work) const {
    Tile& tile = work.tile;
    if (std::exchange(work.kv, &kv) != &kv) prepare_queries(item, kv, work);
    std::fill_n(tile.out, tile.n_rows * tile.out_stride, 0.0f);
    if (work.damage) work.damage->begin();
  }

  void prepare_queries(const Item& item, const KvView& kv, Work& work) const {
    Tile& tile = work.tile;
    const KeyKernels& keys = kernels_of(kv.k.format, item).keys;
    const KvTransform transform = kv.k.transform();
    tile.head_dim_k = stored_elements(transform, kv.head_dim_k);
    tile.head_dim_v = stored_elements(kv.v.transform(), kv.head_dim_v);
    tile.out_stride = align_up(tile.head_dim_v, kStrideElements);
    tile.k_row_bytes = kv.k_row_bytes;
    tile.v_row_bytes = kv.v_row_bytes;
    tile.query_bytes = keys.query_bytes(tile.head_dim_k);
    tile.workspace = tile.queries + align_up(static_cast<size_t>(tile.n_rows) * tile.query_bytes, kLine);
    const int64_t n_head = args_.q.ne[1];
    for (int64_t row = 0; row < tile.n_rows; ++row) {
      const int64_t token = item.run.first_token + row / item.n_heads;
      const int64_t head = item.first_head + row % item.n_heads;
      const float* q = args_.q.as<const float>() + (token * n_head + head) * kv.head_dim_k;
      if (transform != KvTransform::none) {
        kernels_.to_stored(transform, q, work.query, kv.head_dim_k);
        q = work.query;
      }
      keys.prepare(tile, row, q, args_.scale * kLog2E);
    }
  }

  static Block block_at(const KvView& kv, const int32_t* pages, int64_t head_kv, int64_t first,
                        int64_t last) {
    if (first >= last) return {};
    const int64_t slot = first % kv.page_tokens;
    const std::byte* page = kv.pages + static_cast<size_t>(pages[first / kv.page_tokens]) * kv.page_bytes;
    const int64_t n_keys = std::min({kKeyBlock, kv.page_tokens - slot, last - first});
    return {first,
            n_keys,
            page + kv.k_offset(head_kv) + static_cast<size_t>(slot) * kv.k_row_bytes,
            page + kv.v_offset(head_kv) + static_cast<size_t>(slot) * kv.v_row_bytes,
            static_cast<size_t>(n_keys) * kv.k_row_bytes,
            static_cast<size_t>(n_keys) * kv.v_row_bytes};
  }

  const int32_t* pages_of(const Item& item, const KvView& kv) const {
    return kv.page_table.as<const int32_t>() + seq_[item.run.first_token] * kv.page_table.ne[0];
  }

  // The block of an item that begins at a position, whatever kind of page that lies in; none behind its end.
  Block block_from(const Item& item, int64_t position) const {
    const KvView* kv = &args_.kv;
    int64_t end = end_of(item);
    if (kv->exact) {
      const auto [main_first, main_last] = main_positions(item);
      const bool is_main = position >= main_first && position < main_last;
      if (is_main || position < main_first) end = std::min(end, is_main ? main_last : main_first);
      if (!is_main) kv = kv->exact;
    }
    return block_at(*kv, pages_of(item, *kv), item.head_kv, position, end);
  }

  // Positions [first, last), which lie in pages of one kind.
  void visit_keys(const Item& item, const KvView& kv, const Work& work, int64_t first, int64_t last) const {
    Tile tile = work.tile;
    const KeyKernels& keys = kernels_of(kv.k.format, item).keys;
    const ValueKernels& values = kernels_of(kv.v.format, item).values;
    const int32_t* pages = pages_of(item, kv);
    Block block = block_at(kv, pages, item.head_kv, first, last);
    while (block.n_keys > 0) {
      Block next = block_at(kv, pages, item.head_kv, block.first + block.n_keys, last);
      const bool is_last = next.n_keys == 0;
      if (is_last) next = block_from(item, last);
      if (next.n_keys == 0) next = work.later;
      int32_t* visible = tile.visible;
      for (int64_t token = item.run.first_token; token < item.run.first_token + item.run.n_tokens; ++token) {
        const int64_t seen = std::clamp<int64_t>(pos_[token] + int64_t{1} - block.first, 0, block.n_keys);
        visible = std::fill_n(visible, item.n_heads, static_cast<int32_t>(seen));
      }
      tile.next_bytes = div_up(next.k_bytes, static_cast<size_t>(block.n_keys));
      keys.score(tile, block.keys, block.n_keys, next.keys);
      if (first_) hide_first(item, tile, block);
      kernels_.softmax(tile, block.n_keys);
      tile.next_bytes = div_up(next.v_bytes, static_cast<size_t>(block.n_keys));
      const std::byte* const mended = work.damage ? mend(item, kv, work, block) : block.values;
      values.accumulate(tile, mended, block.n_keys, next.values);
      if (is_last) break;
      block = next;
    }
  }

  // How many keys of a block lie before the first one that a row sees.
  int64_t n_hidden(const Item& item, int64_t row, const Block& block) const {
    if (!first_) return 0;
    const int64_t first = first_[item.run.first_token + row / item.n_heads];
    return std::clamp<int64_t>(first - block.first, 0, block.n_keys);
  }

  void hide_first(const Item& item, const Tile& tile, const Block& block) const {
    for (int64_t row = 0; row < tile.n_rows; ++row) {
      std::fill_n(tile.scores + row * kKeyBlock, n_hidden(item, row, block),
                  std::numeric_limits<float>::lowest());
    }
  }

  // The values of a block without what is no number, which the rows that see it are told.
  const std::byte* mend(const Item& item, const KvView& kv, const Work& work, const Block& block) const {
    const std::byte* values = work.damage->mend(kv, block.values, block.n_keys, work.stored);
    for (int64_t row = 0; row < item.n_rows; ++row)
      work.damage->see(row, n_hidden(item, row, block), work.tile.visible[row]);
    return values;
  }

  // Takes the tile's sums of a segment into the totals, which shrink as the largest score has grown.
  void add_to_totals(const Item& item, const KvView& kv, const Work& work, bool is_first) const {
    const Tile& tile = work.tile;
    const Totals& totals = work.totals;
    const ValueKernels& values = kernels_of(kv.v.format, item).values;
    const KvTransform transform = kv.v.transform();
    const int64_t n = kv.head_dim_v;
    for (int64_t row = 0; row < tile.n_rows; ++row) {
      float* total = totals.total + row * layout_.total_stride;
      if (is_first && transform == KvTransform::none) {
        values.finish(tile, row, total);
        if (work.damage) work.damage->show(row, total);
      } else {
        values.finish(tile, row, work.stored);
        if (work.damage) work.damage->show(row, work.stored);
        const float* sums = work.stored;
        if (transform != KvTransform::none) {
          kernels_.from_stored(transform, work.stored, work.query, n);
          sums = work.query;
        }
        const float shrink = is_first ? 0 : std::exp2(totals.largest[row] - tile.largest[row]);
        for (int64_t i = 0; i < n; ++i) total[i] = (is_first ? 0 : total[i] * shrink) + sums[i];
      }
      totals.largest[row] = tile.largest[row];
      totals.sum[row] = tile.sum[row];
    }
  }

  void copy(const Item& item, const Totals& from, const Totals& to) const {
    std::copy_n(from.total, item.n_rows * layout_.total_stride, to.total);
    std::copy_n(from.largest, item.n_rows, to.largest);
    std::copy_n(from.sum, item.n_rows, to.sum);
  }

  // All parts of a pass, put together in the slot of the first.
  Totals merge_splits(const Item& item) const {
    for (int64_t step = 1; step < item.run.n_splits; step *= 2) {
      for (int64_t split = 0; split + step < item.run.n_splits; split += 2 * step) {
        merge(item, slot_of(item, split), slot_of(item, split + step));
      }
    }
    return slot_of(item, 0);
  }

  // whole += part, which is of later keys.
  void merge(const Item& item, const Totals& whole, const Totals& part) const {
    for (int64_t row = 0; row < item.n_rows; ++row) {
      if (part.sum[row] == 0) continue;  // saw none of these keys
      const float largest = std::max(whole.largest[row], part.largest[row]);
      const float keep_whole = std::exp2(whole.largest[row] - largest);
      const float keep_part = std::exp2(part.largest[row] - largest);
      float* total = whole.total + row * layout_.total_stride;
      const float* more = part.total + row * layout_.total_stride;
      for (int64_t i = 0; i < args_.kv.head_dim_v; ++i)
        total[i] = total[i] * keep_whole + more[i] * keep_part;
      whole.sum[row] = whole.sum[row] * keep_whole + part.sum[row] * keep_part;
      whole.largest[row] = largest;
    }
  }

  // The results: totals over the sums of their weights.
  void finish(const Item& item, const Totals& totals) const {
    const int64_t n_head = args_.q.ne[1];
    const int64_t head_dim = args_.kv.head_dim_v;
    for (int64_t row = 0; row < item.n_rows; ++row) {
      const int64_t token = item.run.first_token + row / item.n_heads;
      const int64_t head = item.first_head + row % item.n_heads;
      float* result = args_.out.as<float>() + (token * n_head + head) * head_dim;
      const float inverse = 1 / totals.sum[row];
      for (int64_t i = 0; i < head_dim; ++i)
        result[i] = totals.total[row * layout_.total_stride + i] * inverse;
    }
  }

  ThreadPool& pool_;
  const AttentionArgs& args_;
  const Kernels& kernels_;
  const ScratchLayout layout_;
  const Grouping& grouping_;
  std::byte* const scratch_;
  TokenRun* const runs_;
  int32_t* const counters_;
  const int32_t* const seq_;
  const int32_t* const pos_;
  const int32_t* const first_;  // null: rows see all from position 0 on
  int64_t n_runs_ = 0;
  int64_t n_items_ = 0;
  int64_t total_cost_ = 0;
};

}  // namespace

void run_tiles(Stream& stream, const AttentionArgs& args, const Kernels& kernels) {
  TiledAttention(stream, args, kernels).run();
}

size_t scratch_of_tiles(const AttentionArgs& args, int n_threads, const Kernels& kernels) {
  return ScratchLayout(args, n_threads, kernels).total;
}

}  // namespace parlance::attention
