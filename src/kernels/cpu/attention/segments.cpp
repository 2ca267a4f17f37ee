#include "kernels/cpu/attention/segments.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/pieces.h"
#include "kernels/cpu/cpu_stream.h"

namespace parlance::attention {

namespace {

// Rows of a tile: few enough that the tiles of a short segment keep all threads busy.
constexpr int64_t kSegmentRows = 48;
constexpr size_t kF32 = static_cast<size_t>(KvFormat::f32);

struct Layout {
  Layout(const SegmentAttentionArgs& args, const Kernels& kernels) {
    const int64_t head_dim = args.q.ne[0];
    out_stride = align_up(head_dim, kStrideElements);
    for (const auto* kind : {&kernels.few, &kernels.many}) {
      const FormatKernels& f32 = (*kind)[kF32];
      query_bytes = std::max(query_bytes, f32.keys.query_bytes(head_dim));
      workspace =
          std::max({workspace, f32.keys.workspace_bytes(head_dim), f32.values.workspace_bytes(head_dim)});
    }
    const auto floats = [](int64_t n) { return align_up(static_cast<size_t>(n) * sizeof(float), kLine); };
    thread_bytes = floats(kSegmentRows * out_stride) + floats(kSegmentRows * kKeyBlock) +
                   5 * floats(kSegmentRows) + align_up(kSegmentRows * query_bytes, kLine) +
                   align_up(workspace, kLine);
  }
  int64_t out_stride = 0;
  size_t query_bytes = 0, workspace = 0, thread_bytes = 0;
};

// The tokens of a tile, all of one segment, and one head of each.
struct Item {
  int64_t first_key, n_keys;
  int64_t first_token, n_tokens;
  int64_t head;
};

class SegmentAttention {
 public:
  SegmentAttention(Stream& stream, const SegmentAttentionArgs& args, const Kernels& kernels)
      : pool_(pool_of(stream)),
        scratch_(stream.scratch()),
        args_(args),
        kernels_(kernels),
        layout_(args, kernels) {}

  // Tiles of a segment are counted as if every segment had as many as the longest one could; those that it
  // does not have are skipped.
  void run() const {
    const auto* bounds = args_.bounds.as<const int32_t>();
    const int64_t n_head = args_.q.ne[1], n_segments = args_.bounds.n_elements() - 1;
    int64_t longest = 0;
    for (int64_t i = 0; i < n_segments; ++i) longest = std::max<int64_t>(longest, bounds[i + 1] - bounds[i]);
    const int64_t n_tiles = div_up(longest, kSegmentRows);
    pool_.run(n_segments * n_head * n_tiles, [&](int64_t task, int thread) {
      const int64_t segment = task / (n_head * n_tiles), tile = task % n_tiles;
      const int64_t first = bounds[segment], n_keys = bounds[segment + 1] - first;
      const int64_t n_tokens = std::min(kSegmentRows, n_keys - tile * kSegmentRows);
      if (n_tokens <= 0) return;
      work_on({first, n_keys, first + tile * kSegmentRows, n_tokens, task / n_tiles % n_head}, thread);
    });
  }

 private:
  Tile tile_of(const Item& item, int thread, const FormatKernels& f32) const {
    const int64_t head_dim = args_.q.ne[0];
    Pieces pieces(scratch_.data() + static_cast<size_t>(thread) * layout_.thread_bytes);
    Tile tile{};
    tile.n_rows = item.n_tokens;
    tile.head_dim_k = tile.head_dim_v = head_dim;
    tile.k_row_bytes = tile.v_row_bytes = tile.next_bytes =
        static_cast<size_t>(args_.k.ne[1] * head_dim) * sizeof(float);
    tile.query_bytes = f32.keys.query_bytes(head_dim);
    tile.out_stride = layout_.out_stride;
    take_rows(pieces, tile, tile.out_stride);
    tile.queries = pieces.take<std::byte>(tile.n_rows * static_cast<int64_t>(tile.query_bytes));
    tile.workspace = pieces.take<std::byte>(0);
    std::fill_n(tile.out, tile.n_rows * tile.out_stride, 0.0f);
    return tile;
  }

  void work_on(const Item& item, int thread) const {
    const auto [head_dim, n_head, n_tokens, one] = args_.q.ne;
    const int64_t n_head_kv = args_.k.ne[1], head_kv = item.head / (n_head / n_head_kv);
    const FormatKernels& f32 = (item.n_tokens < kManyRows ? kernels_.few : kernels_.many)[kF32];
    const Tile tile = tile_of(item, thread, f32);
    for (int64_t row = 0; row < tile.n_rows; ++row) {
      const float* q = args_.q.as<const float>() + ((item.first_token + row) * n_head + item.head) * head_dim;
      f32.keys.prepare(tile, row, q, args_.scale * kLog2E);
    }
    const auto rows_at = [&](const Tensor& x, int64_t key) {
      return key < item.n_keys ? x.data + static_cast<size_t>(item.first_key + key) * tile.k_row_bytes +
                                     static_cast<size_t>(head_kv * head_dim) * sizeof(float)
                               : nullptr;
    };
    for (int64_t key = 0; key < item.n_keys; key += kKeyBlock) {
      const int64_t n_keys = std::min(kKeyBlock, item.n_keys - key);
      std::fill_n(tile.visible, tile.n_rows, static_cast<int32_t>(n_keys));
      f32.keys.score(tile, rows_at(args_.k, key), n_keys, rows_at(args_.k, key + kKeyBlock));
      if (args_.bias) add_bias(item, tile, key, n_keys);
      kernels_.softmax(tile, n_keys);
      f32.values.accumulate(tile, rows_at(args_.v, key), n_keys, rows_at(args_.v, key + kKeyBlock));
    }
    for (int64_t row = 0; row < tile.n_rows; ++row) {
      float* out = args_.out.as<float>() + ((item.first_token + row) * n_head + item.head) * head_dim;
      f32.values.finish(tile, row, out);
      const float inverse = 1 / tile.sum[row];
      for (int64_t i = 0; i < head_dim; ++i) out[i] *= inverse;
    }
  }

  void add_bias(const Item& item, const Tile& tile, int64_t first_key, int64_t n_keys) const {
    for (int64_t row = 0; row < tile.n_rows; ++row) {
      const float* bias =
          args_.bias.as<const float>() + (item.first_token + row) * args_.bias.ne[0] + first_key;
      float* scores = tile.scores + row * kKeyBlock;
      for (int64_t i = 0; i < n_keys; ++i) scores[i] += bias[i] * kLog2E;
    }
  }

  ThreadPool& pool_;
  const std::span<std::byte> scratch_;
  const SegmentAttentionArgs& args_;
  const Kernels& kernels_;
  const Layout layout_;
};

}  // namespace

void run_segments(Stream& stream, const SegmentAttentionArgs& args, const Kernels& kernels) {
  SegmentAttention(stream, args, kernels).run();
}

size_t scratch_of_segments(const SegmentAttentionArgs& args, int n_threads, const Kernels& kernels) {
  return static_cast<size_t>(n_threads) * Layout(args, kernels).thread_bytes;
}

}  // namespace parlance::attention
