// attention for many tokens on tensor cores: a tile of 64 rows (heads of a group, of consecutive tokens)
// walks over its keys, the next block of keys and values on its way to shared memory while this one is worked
// on. Keys and values are 16-bit floats as they are stored; queries and weights go in as two such floats
// each, so that their rounding does not show in the result.
#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/attention/mma.cuh"
#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kKeys = 64;  // of a block
constexpr int kWarps = kPrefillRows / 16;
constexpr int kThreads = 32 * kWarps;

// Keys and values of a block in shared memory. The padding keeps eight rows of a matrix out of each other's
// banks.
template <class Half, int kHeadDim>
struct Block {
  Half k[kKeys][kHeadDim + 8];
  Half v[kKeys][kHeadDim + 8];

  __device__ void load(const Params& p, const Walk& walk, int first, int end) {
    constexpr int kPieces = kHeadDim / 8;  // of a row
    const int piece = threadIdx.x % kPieces;
    for (int key = threadIdx.x / kPieces; key < kKeys; key += kThreads / kPieces) {
      // Rows past the end are zeros: their weights are 0, and 0 times what lies there need not be.
      const int n_bytes = first + key < end ? kPieceBytes : 0;
      const int pos = min(first + key, end - 1);
      copy_piece(&k[key][piece * 8], walk.k_row(p, pos) + piece * kPieceBytes, n_bytes);
      copy_piece(&v[key][piece * 8], walk.v_row(p, pos) + piece * kPieceBytes, n_bytes);
    }
  }
};

// Sixteen rows of a warp against their keys; a lane has parts of rows `lane / 4` and `lane / 4 + 8`.
template <class Half, int kHeadDim>
struct WarpRows {
  uint32_t q[kHeadDim / 16][4];       // scaled
  uint32_t q_rest[kHeadDim / 16][4];  // what rounding q left out
  float out[kHeadDim / 8][4];
  float largest[2];
  float sum[2];    // this lane's part
  int visible[2];  // keys that the row sees, from position 0

  // Row `half` of this lane is token and head `index`, or absent.
  __device__ void start(const Params& p, int half, int64_t index, int n_visible, bool is_present) {
    const float* row = p.q + index * kHeadDim + 2 * (threadIdx.x % 4);
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const float* two = row + step * 16 + side * 8;
        const float x = is_present ? two[0] * p.scale : 0.0f;
        const float y = is_present ? two[1] * p.scale : 0.0f;
        split<Half>(x, y, q[step][2 * side + half], q_rest[step][2 * side + half]);
      }
    }
    visible[half] = n_visible;
  }

  __device__ void start_segment() {
#pragma unroll
    for (int i = 0; i < kHeadDim / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) out[i][j] = 0;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) largest[half] = kLowest, sum[half] = 0;
  }

  __device__ void add(const Block<Half, kHeadDim>& block, int first, int end) {
    float scores[kKeys / 8][4] = {};
    multiply_keys(block, scores);
    turn_into_weights(scores, first, end);
    add_values(block, scores);
  }

 private:
  __device__ void multiply_keys(const Block<Half, kHeadDim>& block, float (&scores)[kKeys / 8][4]) const {
    const int lane = threadIdx.x % 32;
    const Half* mine = &block.k[lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8];
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
#pragma unroll
      for (int keys = 0; keys < kKeys / 16; ++keys) {
        uint32_t k[4];
        load_matrices(k, mine + keys * 16 * (kHeadDim + 8) + step * 16);
        multiply_add<Half>(scores[2 * keys], q[step], k[0], k[1]);
        multiply_add<Half>(scores[2 * keys + 1], q[step], k[2], k[3]);
        multiply_add<Half>(scores[2 * keys], q_rest[step], k[0], k[1]);
        multiply_add<Half>(scores[2 * keys + 1], q_rest[step], k[2], k[3]);
      }
    }
  }

  __device__ void turn_into_weights(float (&scores)[kKeys / 8][4], int first, int end) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int n_keys = min(visible[half], end) - first - 2 * static_cast<int>(threadIdx.x % 4);
      float after = largest[half];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& score = scores[i][2 * half + j];
          if (8 * i + j >= n_keys) score = -INFINITY;
          after = fmaxf(after, score);
        }
      }
      for (int mask = 1; mask < 4; mask *= 2) after = fmaxf(after, __shfl_xor_sync(0xffffffff, after, mask));
      const float keep = exp2f(largest[half] - after);
      largest[half] = after;
      sum[half] *= keep;
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i) out[i][2 * half] *= keep, out[i][2 * half + 1] *= keep;
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& score = scores[i][2 * half + j];
          score = exp2f(score - after);
          sum[half] += score;
        }
      }
    }
  }

  __device__ void add_values(const Block<Half, kHeadDim>& block, const float (&weights)[kKeys / 8][4]) {
    const int lane = threadIdx.x % 32;
    const Half* mine = &block.v[lane % 16][lane / 16 * 8];
#pragma unroll
    for (int keys = 0; keys < kKeys / 16; ++keys) {
      uint32_t w[4], w_rest[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* two = &weights[2 * keys + i / 2][i % 2 * 2];
        split<Half>(two[0], two[1], w[i], w_rest[i]);
      }
#pragma unroll
      for (int dims = 0; dims < kHeadDim / 16; ++dims) {
        uint32_t v[4];
        load_transposed(v, mine + keys * 16 * (kHeadDim + 8) + dims * 16);
        multiply_add<Half>(out[2 * dims], w, v[0], v[1]);
        multiply_add<Half>(out[2 * dims + 1], w, v[2], v[3]);
        multiply_add<Half>(out[2 * dims], w_rest, v[0], v[1]);
        multiply_add<Half>(out[2 * dims + 1], w_rest, v[2], v[3]);
      }
    }
  }
};

template <class Half, int kHeadDim>
__global__ void __launch_bounds__(kThreads) prefill(const __grid_constant__ Params p) {
  extern __shared__ __align__(16) std::byte dynamic[];
  auto* const blocks = reinterpret_cast<Block<Half, kHeadDim>*>(dynamic);  // two
  wait_for_previous();
  let_next_start();

  const int head_kv = blockIdx.y / p.tiling.parts;
  const int in_group = blockIdx.y % p.tiling.parts * p.tiling.heads;
  const int n_heads = min(p.tiling.heads, p.group - in_group);
  const int first_head = head_kv * p.group + in_group;
  const int tile = gridDim.x - 1 - blockIdx.x;  // later tokens see more keys: they are taken first
  const int tile_end = min(p.n_tokens, (tile + 1) * p.tiling.tokens);
  const int first_row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;

  for (int token = tile * p.tiling.tokens; token < tile_end;) {
    const TokenRun run(p, token, tile_end);
    token = run.last;
    const int n_segments = run.n_segments();
    const SegmentRange range(p, run);
    if (!run.is_served || range.first >= range.last) continue;
    const bool is_shared = is_split(p, run);
    const Walk walk(p, p.seq[run.first], head_kv);
    const int n_rows = (run.last - run.first) * n_heads;
    const auto token_of = [&](int row) { return run.first + row / n_heads; };
    const auto head_of = [&](int row) { return first_head + row % n_heads; };

    WarpRows<Half, kHeadDim> rows;
    float largest_so_far[2], sum_so_far[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + 8 * half;
      const bool is_present = row < n_rows;
      const int64_t index = is_present ? static_cast<int64_t>(token_of(row)) * p.n_head + head_of(row) : 0;
      rows.start(p, half, index, is_present ? p.pos[token_of(row)] + 1 : 0, is_present);
      largest_so_far[half] = kLowest;
      sum_so_far[half] = 0;
    }

    for (int segment = range.first; segment < range.last; ++segment) {
      const int segment_first = segment * run.segment_keys;
      const int segment_last = min(run.n_keys, segment_first + run.segment_keys);
      rows.start_segment();
      blocks[0].load(p, walk, segment_first, segment_last);
      end_copy_group();
      int stage = 0;
      for (int first = segment_first; first < segment_last; first += kKeys, stage ^= 1) {
        if (first + kKeys < segment_last) blocks[stage ^ 1].load(p, walk, first + kKeys, segment_last);
        end_copy_group();
        wait_for_copies<1>();
        __syncthreads();
        rows.add(blocks[stage], first, segment_last);
        __syncthreads();
      }

#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + 8 * half;
        float sum = rows.sum[half];
        for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
        if (row >= n_rows) continue;
        const int in_row = 2 * (threadIdx.x % 4);
        if (is_shared) {
          const int64_t index = partial_row(p, token_of(row), head_of(row), segment);
          float* out = p.partials.out + index * kHeadDim + in_row;
#pragma unroll
          for (int i = 0; i < kHeadDim / 8; ++i) {
            out[8 * i] = rows.out[i][2 * half];
            out[8 * i + 1] = rows.out[i][2 * half + 1];
          }
          if (in_row == 0) p.partials.stats[index] = make_float2(rows.largest[half], sum);
          continue;
        }
        // What there is so far waits where the result goes.
        const bool is_first = segment == 0, is_last = segment + 1 == n_segments;
        const Fold fold(largest_so_far[half], rows.largest[half]);
        largest_so_far[half] = fold.largest;
        sum_so_far[half] = fold(sum_so_far[half], sum);
        float* out =
            p.out + (static_cast<int64_t>(token_of(row)) * p.n_head + head_of(row)) * kHeadDim + in_row;
#pragma unroll
        for (int i = 0; i < kHeadDim / 8; ++i) {
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            const float value = fold(is_first ? 0.0f : out[8 * i + j], rows.out[i][2 * half + j]);
            out[8 * i + j] = is_last ? finish(value, sum_so_far[half]) : value;
          }
        }
      }
    }
  }
}

template <class Half, int kHeadDim>
void launch_prefill(Stream& stream, const Params& params, const AttentionArgs& args) {
  const dim3 grid(static_cast<unsigned>(params.tiling.n_tiles),
                  static_cast<unsigned>(args.kv.n_head_kv * params.tiling.parts),
                  static_cast<unsigned>(params.n_splits));
  launch(stream, prefill<Half, kHeadDim>,
         {.grid = grid, .block = dim3(kThreads), .shared_bytes = 2 * sizeof(Block<Half, kHeadDim>)}, params);
}

}  // namespace

bool prefill_serves(const AttentionArgs& args) {
  const KvFormat format = args.kv.k.format;
  return format == args.kv.v.format && (format == KvFormat::f16 || format == KvFormat::bf16) &&
         has_wide_rows(args.kv);
}

void run_prefill(Stream& stream, const Params& params, const AttentionArgs& args) {
  const bool is_f16 = args.kv.k.format == KvFormat::f16;
  if (args.kv.head_dim_k == 64) {
    (is_f16 ? launch_prefill<__half, 64> : launch_prefill<__nv_bfloat16, 64>)(stream, params, args);
  } else {
    (is_f16 ? launch_prefill<__half, 128> : launch_prefill<__nv_bfloat16, 128>)(stream, params, args);
  }
}

}  // namespace parlance::cuda::attention
