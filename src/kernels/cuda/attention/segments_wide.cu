// segment_attention on the tensor cores of compute capability 9.0. A kernel, or the one that makes heads,
// rounds these to f16 and keeps what that leaves out as another f16, after it has normed and turned them
// where that is asked for; it writes them as the tensor cores want them. Then each warpgroup of two has 64
// rows of a head and takes 64 keys at a time, which a third brings for both. A product of two such sums of
// halves is short of f32's by what both leave out. One's scores become weights while the tensor cores are the
// other's, and its own.
#include "kernels/cuda/attention/segments_wide.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/attention/mma.cuh"
#include "kernels/cuda/attention/rounded_heads.cuh"
#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kKeys = 64;  // of a step
constexpr int kAlignedRows = kSwizzledRows;

int64_t padded_rows(const SegmentAttentionArgs& args) {
  const int64_t n_segments = args.bounds.n_elements() - 1;
  return align_up<int64_t>(args.q.ne[2] + kAlignedRows * n_segments + kKeys, kAlignedRows);
}

}  // namespace

size_t rounded_heads_bytes(const SegmentAttentionArgs& args) {
  const int64_t n_heads = args.q.ne[1] + 2 * args.k.ne[1];
  return static_cast<size_t>(n_heads * padded_rows(args) * kRoundedDim * 2) * sizeof(uint16_t);
}

RoundedHeads rounded_heads_at(std::byte* at, const SegmentAttentionArgs& args) {
  const auto floats = [](const Tensor& x) { return x ? x.as<const float>() : nullptr; };
  return {segments_of(args),
          floats(args.q_norm),
          floats(args.k_norm),
          floats(args.angles),
          args.eps,
          reinterpret_cast<uint16_t*>(at),
          static_cast<int>(padded_rows(args))};
}

#if PARLANCE_HAS_WARPGROUPS

namespace {

constexpr int kGroups = 2, kRows = kGroups * kWarpgroupRows;  // of a block
constexpr int kStages = 2;
constexpr float kLowest = -1e30f;
constexpr float kLog2OfE = 1.4426950408889634f;
// Keeps small weights out of f16's subnormal numbers; sums have it, too.
constexpr float kLog2OfWeightScale = 10;

constexpr int kRoundWarps = 8;
static_assert(kAlignedRows % HeadRows::kRows == 0);

// A warp for some rows of each head.
__global__ void __launch_bounds__(32 * kRoundWarps) round_heads(const __grid_constant__ RoundedHeads p) {
  using Rows = HeadRows;
  __shared__ __align__(16) float of_rows[kRoundWarps / 2][Rows::kFloatsOfTwo];
  __shared__ __align__(16) float of_angles[kRoundWarps / 2][Rows::kFloatsOfTwo];
  let_next_start();
  const int lane = threadIdx.x % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int index = static_cast<int>(blockIdx.x) * kRoundWarps + warp;
  const int n_heads = p.n_head + 2 * p.n_head_kv;
  const int first_row = index / n_heads * Rows::kRows;
  if (first_row >= p.n_rows) return wait_for_previous();
  const Rows of_head(p, index % n_heads);
  wait_for_previous();
  int first_token = 0, n_tokens = 0;  // of these rows; zeros follow
  for (int i = 0; i < p.n_segments; ++i) {
    const SegmentRows segment = segment_of(p, i);
    if (first_row < segment.first_padded) break;
    first_token = segment.first + first_row - segment.first_padded;
    n_tokens = segment.first + segment.n - first_token;
  }
  float* const rows = of_rows[warp / 2] + warp % 2 * Rows::kBetween;
  float* const angles = of_angles[warp / 2] + warp % 2 * Rows::kBetween;
  of_head.fetch_angles(angles, first_token + n_tokens, [&](int i) { return first_token + i; });
#pragma unroll
  for (int i = 0; i < Rows::kRows; ++i) {
    reinterpret_cast<float4*>(rows + i * Rows::kStride)[lane] =
        i < n_tokens && 4 * lane < p.head_dim
            ? reinterpret_cast<const float4*>(of_head.values(first_token + i))[lane]
            : float4{};
  }
  __syncwarp();
  of_head.round<0>(rows, angles);
  of_head.store(rows, [&](int i) { return i < n_tokens ? first_row + i : -1; });
  for (int i = max(n_tokens, 0); i < Rows::kRows; ++i) of_head.store_zeros(first_row + i);
}

// ---- A warpgroup's rows ----

enum Side { keys, values };

struct Shared {
  static constexpr int kSlices = TileRows::kSlices;
  static constexpr int kSliceBytes = kKeys * kSwizzledRowBytes;
  uint8_t tiles[2][kStages][2][kSlices * kSliceBytes];  // keys, values; halves, rests
  Arrivals there[2][kStages], free[2][kStages];
};

constexpr int kThreads = (kGroups + 1) * kWarpgroupThreads;
constexpr int kFewRegisters = 24, kManyRegisters = 240;  // of who brings tiles, and of who multiplies them
static_assert((kGroups * kManyRegisters + kFewRegisters) * kWarpgroupThreads <= 65536);

__global__ void __launch_bounds__(kThreads, 1) attend_segments(const __grid_constant__ RoundedHeads p) {
  using S = Shared;
  constexpr int kMmaValues = 16, kDimSteps = kRoundedDim / kMmaValues, kKeySteps = kKeys / kMmaValues;
  constexpr int kUnits = 16;  // of descriptors, in bytes
  extern __shared__ uint8_t dynamic[];
  auto& shared = *reinterpret_cast<S*>(first_tile(dynamic));
  if (threadIdx.x == 0) {
    for (int side = 0; side < 2; ++side) {
      for (int stage = 0; stage < kStages; ++stage) {
        shared.there[side][stage].init(1);
        shared.free[side][stage].init(kGroups * kWarpgroupThreads / 32);
      }
    }
  }
  __syncthreads();
  let_next_start();
  wait_for_previous();

  int tile = blockIdx.x, n_keys = 0, first_token = 0, first_padded = 0;
  for (int i = 0; i < p.n_segments; ++i) {
    const SegmentRows segment = segment_of(p, i);
    const int n_tiles = (segment.n + kRows - 1) / kRows;
    if (tile < n_tiles) {
      n_keys = segment.n;
      first_token = segment.first;
      first_padded = segment.first_padded;
      break;
    }
    tile -= n_tiles;
  }
  if (n_keys == 0) return;
  const int head = blockIdx.y, head_kv = head / (p.n_head / p.n_head_kv);
  const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;

  const int group_of_rows = static_cast<int>(threadIdx.x) / kWarpgroupThreads;
  if (group_of_rows == kGroups) {
    give_registers<kFewRegisters>();
    if (threadIdx.x % kWarpgroupThreads != 0) return;
    for (int first = 0, step = 0; first < n_keys; first += kKeys, ++step) {
      const int stage = step % kStages;
      for (const Side side : {keys, values}) {
        if (step >= kStages) shared.free[side][stage].wait(step / kStages - 1);
        Arrivals& there = shared.there[side][stage];
        there.arrive_before(sizeof shared.tiles[side][stage]);
        for (int part = 0; part < 2; ++part) {
          for (int slice = 0; slice < S::kSlices; ++slice)
            there.copy(shared.tiles[side][stage][part] + slice * S::kSliceBytes,
                       TileRows::at(p, side * p.n_head_kv + head_kv, part, slice) +
                           static_cast<int64_t>(first_padded + first) * kSwizzledRowBytes,
                       S::kSliceBytes);
        }
      }
    }
    return;
  }
  take_registers<kManyRegisters>();

  // A lane has parts of two rows of its warp's sixteen.
  int rows[2];
  uint32_t q[2][kDimSteps][4];  // halves, rests
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    rows[half] = tile * kRows + static_cast<int>(threadIdx.x) / 32 * 16 + group + 8 * half;
    const uint16_t* const from =
        QueryRow::at(p, head, first_padded + min(rows[half], n_keys - 1)) + 4 * in_group;
#pragma unroll
    for (int part = 0; part < 2; ++part) {
#pragma unroll
      for (int step = 0; step < kDimSteps; ++step) {
        const uint2 four = *reinterpret_cast<const uint2*>(from + part * kRoundedDim + step * kMmaValues);
        q[part][step][half] = four.x;
        q[part][step][2 + half] = four.y;
      }
    }
  }

  float out[kRoundedDim / 2] = {}, largest[2] = {kLowest, kLowest}, sums[2] = {};
  float scores[kKeys / 2];
  uint32_t weights[2][kKeySteps][4];  // halves, rests
  float keep[2];                      // what is left of the sums so far under a larger score

  const auto start_scores = [&](int step) {
    const int stage = step % kStages;
    shared.there[keys][stage].wait(step / kStages);
#pragma unroll
    for (float& score : scores) score = 0;
    pin_sums(scores);
    begin_warpgroup_products();
#pragma unroll
    for (int i = 0; i < kDimSteps; ++i) {
      const int slice = i / (TileRows::kSliceValues / kMmaValues),
                in_slice = i % (TileRows::kSliceValues / kMmaValues);
      const auto tile_of = [&](int part) {
        return tile_descriptor(shared.tiles[keys][stage][part] + slice * S::kSliceBytes) +
               in_slice * (kMmaValues * 2 / kUnits);
      };
      multiply_warpgroup_rows_f16(scores, q[0][i], tile_of(0));
      multiply_warpgroup_rows_f16(scores, q[0][i], tile_of(1));
      multiply_warpgroup_rows_f16(scores, q[1][i], tile_of(0));
    }
    end_warpgroup_group();
  };
  const auto start_values = [&](int step) {
    const int stage = step % kStages;
    shared.there[values][stage].wait(step / kStages);
    pin_sums(out);
    begin_warpgroup_products();
#pragma unroll
    for (int i = 0; i < kKeySteps; ++i) {
      const auto tile_of = [&](int part) {
        return tile_descriptor_along_k(shared.tiles[values][stage][part], S::kSliceBytes) +
               i * (kMmaValues * kSwizzledRowBytes / kUnits);
      };
      multiply_warpgroup_f16(out, weights[0][i], tile_of(0));
      multiply_warpgroup_f16(out, weights[0][i], tile_of(1));
      multiply_warpgroup_f16(out, weights[1][i], tile_of(0));
    }
    end_warpgroup_group();
  };
  const auto leave = [&](Side side, int step) {
    if (lane == 0) shared.free[side][step % kStages].arrive();
  };
  // Scores become weights, which are not rounded yet.
  const auto weigh = [&](int step) {
    const int first = step * kKeys;
    float top[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* const bias =
          p.bias ? p.bias + (first_token + min(rows[half], n_keys - 1)) * p.bias_stride + first : nullptr;
      top[half] = largest[half];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int key = 8 * i + 2 * in_group + j;
          float& score = scores[4 * i + 2 * half + j];
          score *= p.scale;
          if (bias && first + key < n_keys) score = fmaxf(score + bias[key], kLowest);
          if (first + key >= n_keys) score = kLowest;
          top[half] = fmaxf(top[half], score);
        }
      }
    }
#pragma unroll
    for (int mask = 1; mask < 4; mask *= 2) {  // rows side by side: each waits for what other lanes have
#pragma unroll
      for (float& of_row : top) of_row = fmaxf(of_row, __shfl_xor_sync(kAllLanes, of_row, mask));
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      keep[half] = exp2_flushed((largest[half] - top[half]) * kLog2OfE);
      largest[half] = top[half];
      const float of_top = kLog2OfWeightScale - top[half] * kLog2OfE;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& score = scores[4 * i + 2 * half + j];
          score = exp2_flushed(fmaf(score, kLog2OfE, of_top));
          if (first + 8 * i + 2 * in_group + j >= n_keys) score = 0;
          sum += score;
        }
      }
      sums[half] = sums[half] * keep[half] + sum;
    }
  };
  // When nothing is multiplied.
  const auto round_weights = [&] {
#pragma unroll
    for (int step = 0; step < kKeySteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        split<__half>(scores[8 * step + 2 * i], scores[8 * step + 2 * i + 1], weights[0][step][i],
                      weights[1][step][i]);
    }
    if (__any_sync(kAllLanes, keep[0] != 1 || keep[1] != 1)) {  // mostly, no row has a larger score
#pragma unroll
      for (int i = 0; i < kRoundedDim / 2; ++i) out[i] *= keep[i / 2 % 2];
    }
  };
  // The tensor cores are one warpgroup's after the other's: each starts its products in its turn, and weighs
  // while they have the other's.
  const auto take_turn = [&] {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group_of_rows), "n"(kGroups * kWarpgroupThreads) : "memory");
  };
  const auto pass_turn = [&] {
    asm volatile("bar.arrive %0, %1;" ::"r"(2 - group_of_rows), "n"(kGroups * kWarpgroupThreads) : "memory");
  };
  static_assert(kGroups == 2);
  if (group_of_rows == 1) pass_turn();

  const int n_steps = (n_keys + kKeys - 1) / kKeys;
  take_turn();
  start_scores(0);
  pass_turn();
  wait_for_products<0>();
  pin_sums(scores);
  leave(keys, 0);
  weigh(0);
  round_weights();
  for (int step = 1; step < n_steps; ++step) {  // scores of a step beside the values of the one before
    take_turn();
    start_scores(step);
    start_values(step - 1);
    pass_turn();
    wait_for_products<1>();
    pin_sums(scores);
    leave(keys, step);
    weigh(step);
    wait_for_products<0>();
    pin_sums(out);
    leave(values, step - 1);
    round_weights();
  }
  take_turn();
  start_values(n_steps - 1);
  pass_turn();
  wait_for_products<0>();
  pin_sums(out);
  leave(values, n_steps - 1);

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = sums[half];
    for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(kAllLanes, sum, mask);
    if (rows[half] >= n_keys) continue;
    float* const to = p.out + (static_cast<int64_t>(first_token + rows[half]) * p.n_head + head) * p.head_dim;
#pragma unroll
    for (int i = 0; i < kRoundedDim / 8; ++i) {
      const int at = 8 * i + 2 * in_group;
      if (at < p.head_dim)
        *reinterpret_cast<float2*>(to + at) =
            make_float2(out[4 * i + 2 * half] / sum, out[4 * i + 2 * half + 1] / sum);
    }
  }
}

}  // namespace

bool segments_wide_serves(Stream& stream, const SegmentAttentionArgs& args) {
  return gpu_of(stream).compute_capability == 90 && args.q.ne[0] % 4 == 0 && args.q.ne[0] > kRoundedDim / 2 &&
         args.q.ne[0] <= kRoundedDim;
}

bool segments_wide_turns(const SegmentAttentionArgs& args) {
  return args.q.ne[0] == kRoundedDim && args.style == RopeStyle::halves &&
         2 * args.angles.ne[0] == args.q.ne[0];
}

void run_segments_wide(Stream& stream, const SegmentAttentionArgs& args) {
  if (args.q.ne[2] == 0) return;
  const RoundedHeads heads = rounded_heads_at(scratch_of(stream), args);
  const int64_t n_warps =
      (heads.n_head + 2 * heads.n_head_kv) * static_cast<int64_t>(heads.n_rows / HeadRows::kRows);
  launch(stream, round_heads,
         {.grid = dim3(static_cast<unsigned>(div_up<int64_t>(n_warps, kRoundWarps))),
          .block = dim3(32 * kRoundWarps)},
         heads);
  attend_rounded(stream, heads, args.q.ne[2]);
}

void attend_rounded(Stream& stream, const RoundedHeads& heads, int64_t n_tokens) {
  // A segment begins at most one tile that is not full.
  launch(stream, attend_segments,
         {.grid = dim3(static_cast<unsigned>(n_tokens / kRows + heads.n_segments),
                       static_cast<unsigned>(heads.n_head)),
          .block = dim3(kThreads),
          .shared_bytes = kTileAlignment + sizeof(Shared)},
         heads);
}

#else

bool segments_wide_serves(Stream&, const SegmentAttentionArgs&) {
  return false;
}
bool segments_wide_turns(const SegmentAttentionArgs&) {
  return false;
}
void run_segments_wide(Stream&, const SegmentAttentionArgs&) {}
void attend_rounded(Stream&, const RoundedHeads&, int64_t) {}

#endif

}  // namespace parlance::cuda::attention
