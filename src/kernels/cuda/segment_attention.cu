// segment_attention on CUDA: tensor cores for the heads of models (segments_wide.cu for large ones on
// GPUs of compute capability 9.0), a warp for each row for all others.
// Queries, keys, values and weights go into the tensor cores as sums of two f16, whose product is short of
// f32's by what both leave out; so magnitudes above 65,504 are not served, which no normalised model comes
// near.
#include <cfloat>
#include <utility>

#include "kernels/cuda/attention/mma.cuh"
#include "kernels/cuda/attention/segments.h"
#include "kernels/cuda/attention/segments_wide.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

using attention::load_transposed;
using attention::Segments;
using attention::split;

// Tokens of a segment.
struct TokenRange {
  int first = 0, n = 0;
};

constexpr int kRows = 64;  // query tokens of a block, all of one head
constexpr int kKeys = 32;  // of a step
// Of a side: one or two groups of warps take turns at the steps, each with all rows.
constexpr int kSideThreads = 128;
constexpr float kWeightScale = 1024;  // keeps small weights out of f16's subnormal numbers; sums have it, too

// What a step's keys and values are in shared memory: as they come, then rounded, and what rounding left out.
template <int kDim>
struct StepShared {
  float raw[2][kKeys][kDim];                         // keys, values
  alignas(16) __half halves[2][2][kKeys][kDim + 8];  // keys, values; rounded, rest
};

// What the threads of the second side have summed up, in place of its steps.
template <int kDim>
struct LeftSums {
  float out[kDim / 2][kSideThreads];
  float largest[2][kSideThreads], sums[2][kSideThreads];
};

// The tile's segment and its first row in it; none where the grid has more tiles than segments have.
__device__ TokenRange find_tile(const Segments& p, int tile, int& first_row) {
  for (int i = 0; i < p.n_segments; ++i) {
    const TokenRange segment{p.bounds[i], p.bounds[i + 1] - p.bounds[i]};
    const int n_tiles = (segment.n + kRows - 1) / kRows;
    if (tile < n_tiles) {
      first_row = tile * kRows;
      return segment;
    }
    tile -= n_tiles;
  }
  return {};
}

template <int kDim, int kSides>
__global__ void __launch_bounds__(kSides* kSideThreads) attend_tiles(const Segments p) {
  extern __shared__ __align__(16) std::byte dynamic[];
  auto* const steps = reinterpret_cast<StepShared<kDim>*>(dynamic);
  const int side = threadIdx.x / kSideThreads;
  auto& shared = steps[side];
  const auto wait_for_side = [&] {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + side), "r"(kSideThreads) : "memory");
  };
  let_next_start();
  wait_for_previous();
  int first_row = 0;
  const TokenRange segment = find_tile(p, blockIdx.x, first_row);
  if (segment.n == 0) return;
  const int head = blockIdx.y, head_kv = head / (p.n_head / p.n_head_kv);
  const int thread = threadIdx.x % kSideThreads, lane = thread % 32, group = lane / 4, in_group = lane % 4;
  const int64_t kv_stride = static_cast<int64_t>(p.n_head_kv) * p.head_dim;
  const float* const sources[2] = {
      p.k + (segment.first * p.n_head_kv + head_kv) * static_cast<int64_t>(p.head_dim),
      p.v + (segment.first * p.n_head_kv + head_kv) * static_cast<int64_t>(p.head_dim)};

  const auto copy_step = [&](int first) {
    constexpr int kPieces = kDim / 4;
    for (int at = thread; at < 2 * kKeys * kPieces; at += kSideThreads) {
      const int of = at / (kKeys * kPieces), key = at / kPieces % kKeys, piece = at % kPieces;
      const bool exists = first + key < segment.n && 4 * piece < p.head_dim;
      const float* const from = sources[of] + (exists ? (first + key) * kv_stride + 4 * piece : 0);
      copy_piece(&shared.raw[of][key][4 * piece], from, exists ? kPieceBytes : 0);
    }
    end_copy_group();
  };
  const auto split_step = [&] {
    constexpr int kPairs = kDim / 2;
#pragma unroll 8
    for (int i = 0; i < 2 * kKeys * kPairs / kSideThreads; ++i) {
      const int at = i * kSideThreads + thread;
      const int of = at / (kKeys * kPairs), key = at / kPairs % kKeys, pair = at % kPairs;
      const float2 two = *reinterpret_cast<const float2*>(&shared.raw[of][key][2 * pair]);
      split<__half>(two.x, two.y, *reinterpret_cast<uint32_t*>(&shared.halves[of][0][key][2 * pair]),
                    *reinterpret_cast<uint32_t*>(&shared.halves[of][1][key][2 * pair]));
    }
  };

  // A lane has parts of two rows of its warp's sixteen.
  int rows[2];
  uint32_t q[kDim / 16][4], q_rest[kDim / 16][4];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    rows[half] = first_row + thread / 32 * 16 + group + 8 * half;
    const float* const query =
        p.q +
        (static_cast<int64_t>(segment.first + min(rows[half], segment.n - 1)) * p.n_head + head) * p.head_dim;
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) {
      const int at = 8 * i + 2 * in_group;
      const float2 two = at < p.head_dim ? *reinterpret_cast<const float2*>(query + at) : float2{};
      split<__half>(two.x, two.y, q[i / 2][i % 2 * 2 + half], q_rest[i / 2][i % 2 * 2 + half]);
    }
  }
  float out[kDim / 8][4] = {}, largest[2] = {-FLT_MAX, -FLT_MAX}, sums[2] = {};

  if (side * kKeys < segment.n) copy_step(side * kKeys);
  for (int first = side * kKeys; first < segment.n; first += kSides * kKeys) {
    wait_for_copies<0>();
    wait_for_side();  // the copies of all are there, and nobody reads the halves of the step before
    split_step();
    wait_for_side();
    if (first + kSides * kKeys < segment.n) copy_step(first + kSides * kKeys);

    float scores[kKeys / 8][4] = {};
#pragma unroll
    for (int step = 0; step < kDim / 16; ++step) {
#pragma unroll
      for (int pair = 0; pair < kKeys / 16; ++pair) {
        uint32_t k[4], k_rest[4];
        const int offset = offset_in_b(lane, sizeof shared.halves[0][0][0]) + step * 32;
        load_matrices(k, reinterpret_cast<const std::byte*>(shared.halves[0][0][16 * pair]) + offset);
        load_matrices(k_rest, reinterpret_cast<const std::byte*>(shared.halves[0][1][16 * pair]) + offset);
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          float(&to)[4] = scores[2 * pair + side];
          multiply_add_f16(to, q[step], k[2 * side], k[2 * side + 1]);
          multiply_add_f16(to, q[step], k_rest[2 * side], k_rest[2 * side + 1]);
          multiply_add_f16(to, q_rest[step], k[2 * side], k[2 * side + 1]);
        }
      }
    }

#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* const bias =
          p.bias ? p.bias + (segment.first + min(rows[half], segment.n - 1)) * p.bias_stride : nullptr;
      float top = largest[half];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int key = first + 8 * i + 2 * in_group + j;
          float& score = scores[i][2 * half + j];
          score = key < segment.n ? score * p.scale + (bias ? bias[key] : 0.0f) : -FLT_MAX;
          top = fmaxf(top, score);
        }
      }
      for (int mask = 1; mask < 4; mask *= 2) top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, mask));
      const float shrink = expf(largest[half] - top);
      largest[half] = top;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& score = scores[i][2 * half + j];
          const bool exists = first + 8 * i + 2 * in_group + j < segment.n;
          score = exists ? expf(score - top) * kWeightScale : 0.0f;
          sum += score;
        }
      }
      sums[half] = sums[half] * shrink + sum;
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i) {
        out[i][2 * half] *= shrink;
        out[i][2 * half + 1] *= shrink;
      }
    }

#pragma unroll
    for (int pair = 0; pair < kKeys / 16; ++pair) {
      uint32_t weights[4], weights_rest[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&of)[4] = scores[2 * pair + i / 2];
        split<__half>(of[i % 2 * 2], of[i % 2 * 2 + 1], weights[i], weights_rest[i]);
      }
#pragma unroll
      for (int i = 0; i < kDim / 16; ++i) {
        uint32_t v[4], v_rest[4];
        const int key = 16 * pair + lane % 16, at = 16 * i + lane / 16 * 8;
        load_transposed(v, &shared.halves[1][0][key][at]);
        load_transposed(v_rest, &shared.halves[1][1][key][at]);
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          float(&to)[4] = out[2 * i + side];
          multiply_add_f16(to, weights, v[2 * side], v[2 * side + 1]);
          multiply_add_f16(to, weights, v_rest[2 * side], v_rest[2 * side + 1]);
          multiply_add_f16(to, weights_rest, v[2 * side], v[2 * side + 1]);
        }
      }
    }
  }

  if constexpr (kSides == 2) {  // the first side takes in what the second one has
    static_assert(sizeof(LeftSums<kDim>) <= sizeof(StepShared<kDim>));
    auto& left = *reinterpret_cast<LeftSums<kDim>*>(steps + 1);
    __syncthreads();
    if (side == 1) {
#pragma unroll
      for (int i = 0; i < kDim / 2; ++i) left.out[i][thread] = out[i / 4][i % 4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        left.largest[half][thread] = largest[half];
        left.sums[half][thread] = sums[half];
      }
    }
    __syncthreads();
    if (side == 1) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float other = left.largest[half][thread], top = fmaxf(largest[half], other);
      const float keep = expf(largest[half] - top), add = expf(other - top);
      sums[half] = sums[half] * keep + left.sums[half][thread] * add;
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& value = out[i][2 * half + j];
          value = value * keep + left.out[4 * i + 2 * half + j][thread] * add;
        }
      }
    }
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = sums[half];
    for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(kAllLanes, sum, mask);
    if (rows[half] >= segment.n) continue;
    float* const to =
        p.out + (static_cast<int64_t>(segment.first + rows[half]) * p.n_head + head) * p.head_dim;
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) {
      const int at = 8 * i + 2 * in_group;
      if (at < p.head_dim)
        *reinterpret_cast<float2*>(to + at) = make_float2(out[i][2 * half] / sum, out[i][2 * half + 1] / sum);
    }
  }
}

// ---- Heads of other sizes ----

constexpr int kWarps = 4;  // rows of a block

// A warp's row waits in `out` between its keys.
__global__ void __launch_bounds__(32 * kWarps) attend_rows(const Segments p, int n_tokens) {
  let_next_start();
  wait_for_previous();
  const int lane = threadIdx.x, token = blockIdx.x * kWarps + threadIdx.y, head = blockIdx.y;
  if (token >= n_tokens) return;
  int at = 0;
  while (p.bounds[at + 1] <= token) ++at;
  const TokenRange segment{p.bounds[at], p.bounds[at + 1] - p.bounds[at]};
  const int64_t stride = static_cast<int64_t>(p.n_head_kv) * p.head_dim;
  const int64_t kv = segment.first * stride + head / (p.n_head / p.n_head_kv) * p.head_dim;
  const int64_t row = (static_cast<int64_t>(token) * p.n_head + head) * p.head_dim;
  const float* const bias = p.bias ? p.bias + token * p.bias_stride : nullptr;
  for (int i = lane; i < p.head_dim; i += 32) p.out[row + i] = 0;
  float largest = -FLT_MAX, sum = 0;
  for (int key = 0; key < segment.n; ++key) {
    float dot = 0;
    for (int i = lane; i < p.head_dim; i += 32) dot = fmaf(p.q[row + i], p.k[kv + key * stride + i], dot);
    const float score = sum_of_warp(dot) * p.scale + (bias ? bias[key] : 0.0f);
    const float top = fmaxf(largest, score), shrink = expf(largest - top), weight = expf(score - top);
    largest = top;
    sum = sum * shrink + weight;
    for (int i = lane; i < p.head_dim; i += 32)
      p.out[row + i] = p.out[row + i] * shrink + weight * p.v[kv + key * stride + i];
  }
  for (int i = lane; i < p.head_dim; i += 32) p.out[row + i] /= sum;
}

template <int kDim>
void launch_tiles(Stream& stream, const Segments& p, int64_t n_tokens) {
  // A segment begins at most one tile that is not full.
  const int64_t n_tiles = n_tokens / kRows + p.n_segments;
  constexpr size_t kSideBytes = sizeof(StepShared<kDim>);
  const bool has_two = 2 * kSideBytes <= gpu_of(stream).shared_bytes_per_block;
  const unsigned n_sides = has_two ? 2 : 1;
  launch(stream, has_two ? attend_tiles<kDim, 2> : attend_tiles<kDim, 1>,
         {.grid = dim3(static_cast<unsigned>(n_tiles), static_cast<unsigned>(p.n_head)),
          .block = dim3(n_sides * kSideThreads),
          .shared_bytes = n_sides * kSideBytes},
         p);
}

// What heads of q and k go through first, in place.
void turn_heads(Stream& stream, const SegmentAttentionArgs& args) {
  for (const auto& [x, norm] : {std::pair{args.q, args.q_norm}, std::pair{args.k, args.k_norm}}) {
    if (norm) op_table().rms_norm.run(stream, {x, norm, x, args.eps});
    if (args.angles) op_table().rope.run(stream, {x, args.angles, args.style});
  }
}

void run_segment_attention(Stream& stream, const SegmentAttentionArgs& given) {
  SegmentAttentionArgs args = given;
  const bool is_wide = attention::segments_wide_serves(stream, args);
  if ((args.angles || args.q_norm || args.k_norm) && !(is_wide && attention::segments_wide_turns(args))) {
    turn_heads(stream, args);
    args.q_norm = args.k_norm = args.angles = {};
  }
  if (is_wide) return attention::run_segments_wide(stream, args);
  const int64_t n_tokens = args.q.ne[2];
  const Segments p = attention::segments_of(args);
  if (n_tokens == 0) return;
  if (p.head_dim % 4 != 0 || p.head_dim > 128) {
    launch(stream, attend_rows,
           {.grid = dim3(static_cast<unsigned>((n_tokens + kWarps - 1) / kWarps),
                         static_cast<unsigned>(p.n_head)),
            .block = dim3(32, kWarps)},
           p, static_cast<int>(n_tokens));
  } else if (p.head_dim > 64) {
    launch_tiles<128>(stream, p, n_tokens);
  } else if (p.head_dim > 32) {
    launch_tiles<64>(stream, p, n_tokens);
  } else {
    launch_tiles<32>(stream, p, n_tokens);
  }
}

}  // namespace

void fill_segment_attention(OpTable& table) {
  table.segment_attention = {run_segment_attention, [](const SegmentAttentionArgs& args, int) {
                               return attention::rounded_heads_bytes(args);
                             }};
}

}  // namespace parlance::cuda
