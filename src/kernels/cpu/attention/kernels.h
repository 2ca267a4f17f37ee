// What the tile driver (tiles.cpp) asks of an instruction set and of a cache format: scores of a block of
// keys, the running softmax, and the weighted sum of a block of values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_device.h"
#include "kernels/op_table.h"
#include "quant/kv_format.h"

namespace parlance::attention {

inline constexpr int64_t kKeyBlock = 64;  // keys (and values) that are worked on at a time
inline constexpr int64_t kTileRows = 96;  // most query rows that share one pass over keys and values
inline constexpr int64_t kStrideElements =
    16;  // rows of q and out are padded with zeros to a multiple of this

// A tile: query rows that attend to the same KV head of the same sequence, and their softmax so far. A block
// of at most kKeyBlock consecutive positions is scored, weighted and accumulated before the next one.
struct Tile {
  int64_t n_rows;
  int64_t head_dim_k;
  int64_t head_dim_v;
  size_t k_row_bytes;
  size_t v_row_bytes;
  int64_t q_stride;
  int64_t out_stride;

  float* q;          // [n_rows][q_stride], already scaled
  float* scores;     // [n_rows][kKeyBlock]: of the block; softmax() turns them into weights
  int32_t* visible;  // [n_rows]: how many of the block's first positions each row sees
  float* largest;    // [n_rows]: largest score so far
  float* sum;        // [n_rows]: of exp(score - largest)
  float* out;        // [n_rows][out_stride]: sum of exp(score - largest) v
  float* workspace;  // kKeyBlock * max(head_dim_k, out_stride) floats
};

// A format's part: `rows` are n_keys encoded head vectors, one after the other. `next` is where those of the
// next block begin, for reading ahead; null after the last.
using BlockKernel = void(const Tile& tile, const std::byte* rows, int64_t n_keys, const std::byte* next);

struct Kernels {
  std::array<BlockKernel*, kKvFormatCount> score;       // scores = q k
  std::array<BlockKernel*, kKvFormatCount> accumulate;  // out += weights v
  // Takes the block's scores into `largest` and `sum`, rescales `out` to the new largest, and leaves the
  // weights in `scores`, zero where a row does not see.
  void (*softmax)(const Tile& tile, int64_t n_keys);
};

#if defined(__x86_64__)
extern const Kernels kAvx2;
extern const Kernels kAvx512;
#elif defined(__aarch64__)
extern const Kernels kNeon;
#endif

// The operation, driven in tiles on all threads.
void run_tiles(Stream& stream, const AttentionArgs& args, const Kernels& kernels);
size_t scratch_of_tiles(const AttentionArgs& args, int n_threads);

}  // namespace parlance::attention
