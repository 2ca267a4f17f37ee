// What the tile driver (tiles.cpp) asks of an instruction set and of the formats of a cache. A format brings
// its own arithmetic: how a query is prepared once for all the keys that it meets, the scores of a block of
// keys, the weighted sum of a block of values, and how the finished sum is read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/checked.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/op_table.h"
#include "quant/kv_format.h"

namespace parlance::attention {

inline constexpr int64_t kKeyBlock = 128;  // keys (and values) that are worked on at a time
inline constexpr int64_t kTileRows = 256;  // most query rows that share one pass over keys and values
// A tile of at least so many rows is bound by arithmetic, not by memory.
inline constexpr int64_t kManyRows = 8;
// A sequence with so many tokens in the batch is being answered, or what was drafted for it is verified: its
// rows find what one token alone finds, so that a draft changes nothing. One with more is a piece of a
// prompt.
inline constexpr int64_t kFewTokens = 32;
inline constexpr int64_t kStrideElements = 16;  // rows of `out` are padded with zeros to a multiple of this

// A tile: query rows that attend to the same KV head of the same sequence, and their softmax so far. A block
// of at most kKeyBlock consecutive positions is scored, weighted and accumulated before the next one. Queries
// and sums are in the terms of stored values, see quant/kv_transform.h: kernels do not know of transforms.
struct Tile {
  int64_t n_rows;
  int64_t head_dim_k;  // stored values of a key
  int64_t head_dim_v;  // stored values of a value
  size_t k_row_bytes;
  size_t v_row_bytes;
  size_t next_bytes;  // to ask for beside each row of a block, of what `next` points to
  size_t query_bytes;
  int64_t out_stride;

  std::byte* queries;  // [n_rows][query_bytes]: as KeyKernels::prepare() left them
  float* scores;       // [n_rows][kKeyBlock]: of the block; softmax() turns them into weights
  // What there is one of for each row ends on a multiple of 64 bytes: whole vectors may be taken.
  int32_t* visible;      // [n_rows]: how many of the block's first positions each row sees
  float* block_largest;  // [n_rows]: largest weight of the block, from softmax() for accumulate()
  float* block_sum;      // [n_rows]: of the block's weights, too
  float* largest;        // [n_rows]: largest score so far
  float* sum;            // [n_rows]: of 2^(score - largest)
  float* out;            // [n_rows][out_stride]: sum of 2^(score - largest) v
  std::byte* workspace;  // of the kernel that runs, as large as it asked for; 64-byte aligned

  template <class T>
  T* query(int64_t row) const {
    return reinterpret_cast<T*>(queries + static_cast<size_t>(row) * query_bytes);
  }
};

// `rows` are n_keys encoded head vectors, one after the other. `next` is where those of the next block begin,
// which may be of another kind of page, for reading ahead; null after the last.
using BlockKernel = void(const Tile& tile, const std::byte* rows, int64_t n_keys, const std::byte* next);

struct KeyKernels {
  size_t (*query_bytes)(int64_t head_dim);      // of a prepared query, a multiple of 64
  size_t (*workspace_bytes)(int64_t head_dim);  // of score()
  // Takes a transformed query [head_dim_k] in as a row of the tile. `scale` multiplies its scores, whose
  // powers of 2 are weights.
  void (*prepare)(const Tile& tile, int64_t row, const float* query, float scale);
  BlockKernel* score;  // scores = scale q k
};

struct ValueKernels {
  size_t (*workspace_bytes)(int64_t head_dim);  // of accumulate()
  BlockKernel* accumulate;                      // out += weights v
  // sums [head_dim_v] = what a row of the tile has summed up.
  void (*finish)(const Tile& tile, int64_t row, float* sums);
};

struct FormatKernels {
  KeyKernels keys;
  ValueKernels values;
};

struct Kernels {
  // For tokens of sequences with few in the batch, if fewer than kManyRows heads share a key, and for all
  // others; by KvFormat.
  std::array<FormatKernels, kKvFormatCount> few, many;
  // Takes the block's scores into `largest` and `sum`, rescales `out` to the new largest, and leaves the
  // weights in `scores`: zero where a row does not see, up to a multiple of kStrideElements.
  void (*softmax)(const Tile& tile, int64_t n_keys);
  // As the functions of these names in quant/kv_transform.h.
  void (*to_stored)(KvTransform transform, const float* q, float* stored, int64_t n);
  void (*from_stored)(KvTransform transform, const float* stored, float* x, int64_t n);
};

#if defined(__x86_64__)
extern const Kernels kAvx2;
extern const Kernels kAvx512;
extern const Kernels kAvx512Vbmi;  // with VBMI, which Ice Lake and Zen 4 have, and Cascade Lake has not
extern const Kernels kAmx;         // with VBMI, too, which every processor with AMX has
// What a row finds is the same bits however many rows its tile has: sums in f32, a quarter to a half slower
// where rows are few, at half the speed where they are many. The sets above keep that promise for f32 caches;
// those of AVX2 and NEON for all.
extern const Kernels kDeterministicAvx512;
#elif defined(__aarch64__)
extern const Kernels kNeon;
#endif

// The operation, driven in tiles on all threads.
void run_tiles(Stream& stream, const AttentionArgs& args, const Kernels& kernels);
size_t scratch_of_tiles(const AttentionArgs& args, int n_threads, const Kernels& kernels);

// The cell of an instruction set.
template <const Kernels& kernels>
Cell<AttentionArgs> cell() {
  return {
      [](Stream& stream, const AttentionArgs& args) { run_tiles(stream, args, kernels); },
      [](const AttentionArgs& args, int n_threads) { return scratch_of_tiles(args, n_threads, kernels); }};
}

}  // namespace parlance::attention
