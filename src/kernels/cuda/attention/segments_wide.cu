// segment_attention on the tensor cores of compute capability 9.0. A kernel rounds heads to f16 and keeps
// what that leaves out as another f16, after it has normed and turned them where that is asked for; it writes
// them as the tensor cores want them. Then each warpgroup of two has 64 rows of a head and takes 64 keys at a
// time, which a third brings for both. A product of two such sums of halves is short of f32's by what both
// leave out. One's scores become weights while the tensor cores are the other's, and its own.
#include "kernels/cuda/attention/segments_wide.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/attention/fold.cuh"
#include "kernels/cuda/attention/mma.cuh"
#include "kernels/cuda/attention/segments.h"
#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kKeys = 64;  // of a step
constexpr int kAlignedRows = kSwizzledRows;
constexpr int kDim = 128;  // of heads, with zeros behind shorter ones

// Rows of all segments, each of which begins at a multiple of kAlignedRows, and as many zeros behind them as
// a step may read.
int64_t padded_rows(int64_t n_tokens, int64_t n_segments) {
  return align_up<int64_t>(n_tokens + kAlignedRows * n_segments + kKeys, kAlignedRows);
}

}  // namespace

size_t segments_wide_scratch(const SegmentAttentionArgs& args) {
  const int64_t n_heads = args.q.ne[1] + 2 * args.k.ne[1];
  const int64_t n_rows = padded_rows(args.q.ne[2], args.bounds.n_elements() - 1);
  return static_cast<size_t>(n_heads * n_rows * kDim * 2) * sizeof(uint16_t);
}

#if PARLANCE_HAS_WARPGROUPS

namespace {

constexpr int kGroups = 2, kRows = kGroups * kWarpgroupRows;  // of a block
constexpr int kStages = 2;
constexpr int kSliceValues = 64;  // of a row: tiles of warpgroup.cuh
constexpr float kLowest = -1e30f;
constexpr float kLog2OfE = 1.4426950408889634f;
// Keeps small weights out of f16's subnormal numbers; sums have it, too.
constexpr float kLog2OfWeightScale = 10;

struct WideSegments : Segments {
  // Of heads that are turned.
  const float *q_norm, *k_norm;  // or null
  const float* angles;           // (head_dim / 2, 2, n_tokens): cos, then sin; or null
  float eps;
  // Halves and rests of rows: see QueryRow and TileRows.
  uint16_t* rounded;
  int n_rows;  // padded
};

struct SegmentRows {
  int first, n;      // tokens
  int first_padded;  // row
};

__device__ inline SegmentRows segment_of(const WideSegments& p, int i) {
  const int first = p.bounds[i];
  return {first, p.bounds[i + 1] - first, first / kAlignedRows * kAlignedRows + kAlignedRows * i};
}

// ---- Rounded rows ----

// Queries go from memory to registers: a lane has four halves of sixteen values, those that its registers of
// A hold (mma.cuh), next to each other.
struct QueryRow {
  __device__ static uint16_t* at(const WideSegments& p, int head, int row) {
    return p.rounded + (static_cast<int64_t>(head) * p.n_rows + row) * 2 * kDim;
  }
  // Of an even value, its halves; the rests are kDim behind them.
  __device__ static int place(int value) {
    const int in_step = value % 16;
    return value - in_step + in_step % 8 / 2 * 4 + in_step / 8 * 2;
  }
};

// Keys and values go to shared memory in tiles, by slices of 64 values: (halves and rests, slices, rows).
struct TileRows {
  static constexpr int kSlices = kDim / kSliceValues;
  // Bytes from the first row of a head's slices on, of halves and of rests.
  __device__ static uint8_t* at(const WideSegments& p, int head_of_both, int part, int slice) {
    const int64_t index = (static_cast<int64_t>(p.n_head + head_of_both) * 2 + part) * kSlices + slice;
    return reinterpret_cast<uint8_t*>(p.rounded) + index * p.n_rows * kSwizzledRowBytes;
  }
  __device__ static int place(int row, int value) {
    return swizzled_place(row, value % kSliceValues / 8) + value % 8 * static_cast<int>(sizeof(uint16_t));
  }
};

// A head of a row by a warp: a lane has four values that follow each other.
struct WarpHead {
  static constexpr int kEach = kDim / 32;
  static_assert(kEach == 4);
  float x[kEach];

  __device__ explicit WarpHead(const float4& v) { take(v); }

  // Of kDim elements; the sum is that of sum_of_squares(): eight lanes have the values of a warp.
  __device__ void norm(const float4& w, float eps) {
    float sums[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      sums[i] = __fmul_rn(x[i], x[i]);
#pragma unroll
      for (int mask = 4; mask > 0; mask /= 2)
        sums[i] = __fadd_rn(sums[i], __shfl_xor_sync(kAllLanes, sums[i], mask));
    }
    float sum = __fadd_rn(__fadd_rn(sums[0], sums[2]), __fadd_rn(sums[1], sums[3]));
#pragma unroll
    for (int mask = 16; mask > 4; mask /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, mask));
    const float scale = 1 / sqrtf(sum / static_cast<float>(kDim) + eps);
    take(make_float4(x[0] * scale * w.x, x[1] * scale * w.y, x[2] * scale * w.z, x[3] * scale * w.w));
  }

  // Pairs are halves of the head.
  __device__ void turn(const float4& cosine, const float4& sine, int lane) {
    const float c[kEach] = {cosine.x, cosine.y, cosine.z, cosine.w};
    const float s[kEach] = {sine.x, sine.y, sine.z, sine.w};
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const float other = __shfl_xor_sync(kAllLanes, x[i], 16);
      const bool is_first = lane < 16;
      const float a = is_first ? x[i] : other, b = is_first ? other : x[i];
      x[i] = is_first ? a * c[i] - b * s[i] : a * s[i] + b * c[i];
    }
  }

  struct Rounded {
    uint32_t halves[2], rests[2];
  };
  __device__ Rounded rounded() const {
    Rounded r;
#pragma unroll
    for (int i = 0; i < 2; ++i) split<__half>(x[2 * i], x[2 * i + 1], r.halves[i], r.rests[i]);
    return r;
  }

  // Two lanes, whose numbers differ by `apart`, have the halves and the rests of eight values: the first of
  // them shall have all halves, the other all rests, by lanes.
  struct Exchanged {
    bool has_rests;
    uint32_t of_first[2], of_second[2];
  };
  __device__ Exchanged exchanged(int lane, int apart) const {
    const Rounded own = rounded();
    Exchanged e;
    e.has_rests = (lane & apart) != 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint32_t others = __shfl_xor_sync(kAllLanes, e.has_rests ? own.halves[i] : own.rests[i], apart);
      e.of_first[i] = e.has_rests ? others : own.halves[i];
      e.of_second[i] = e.has_rests ? own.rests[i] : others;
    }
    return e;
  }

 private:
  __device__ void take(const float4& v) {
    x[0] = v.x;
    x[1] = v.y;
    x[2] = v.z;
    x[3] = v.w;
  }
};

constexpr int kRoundWarps = 8;
constexpr int kRoundRows = 4;  // of a warp; those of a segment begin at a multiple of it
static_assert(kAlignedRows % kRoundRows == 0);

// A warp for each head of q, then of k, then of v, of kRoundRows padded rows. What the next row needs is on
// its way while one is rounded.
__global__ void __launch_bounds__(32 * kRoundWarps) round_heads(const __grid_constant__ WideSegments p) {
  let_next_start();
  const int lane = threadIdx.x % 32;
  const int index = static_cast<int>(blockIdx.x) * kRoundWarps + static_cast<int>(threadIdx.x) / 32;
  const int n_heads = p.n_head + 2 * p.n_head_kv;
  const int first_row = index / n_heads * kRoundRows, head = index % n_heads;
  const bool is_q = head < p.n_head, is_k = !is_q && head < p.n_head + p.n_head_kv;
  const int head_of_side = is_q ? head : is_k ? head - p.n_head : head - p.n_head - p.n_head_kv;
  const float* const norm = is_q ? p.q_norm : is_k ? p.k_norm : nullptr;
  const float4 norms = norm ? reinterpret_cast<const float4*>(norm)[lane] : float4{};
  wait_for_previous();
  if (first_row >= p.n_rows) return;
  int first_token = 0, n_tokens = 0;  // of these rows; zeros follow
  for (int i = 0; i < p.n_segments; ++i) {
    const SegmentRows segment = segment_of(p, i);
    if (first_row < segment.first_padded) break;
    first_token = segment.first + first_row - segment.first_padded;
    n_tokens = segment.first + segment.n - first_token;
  }
  const int of_side = is_q ? p.n_head : p.n_head_kv;
  const float* const side = is_q ? p.q : is_k ? p.k : p.v;
  const bool turns = p.angles && (is_q || is_k);
  float4 x{}, cosine{}, sine{};
  const auto load = [&](int i) {
    x = float4{};
    if (i >= n_tokens) return;
    const int64_t token = first_token + i;
    if (WarpHead::kEach * lane < p.head_dim)
      x = *reinterpret_cast<const float4*>(side + (token * of_side + head_of_side) * p.head_dim +
                                           WarpHead::kEach * lane);
    if (!turns) return;
    const auto* const angles = reinterpret_cast<const float4*>(p.angles + token * kDim);
    cosine = angles[lane % 16];
    sine = angles[16 + lane % 16];
  };
  load(0);
#pragma unroll 1
  for (int i = 0; i < kRoundRows; ++i) {
    const int row = first_row + i;
    WarpHead own(x);
    const float4 cosines = cosine, sines = sine;
    if (i + 1 < kRoundRows) load(i + 1);
    if (i < n_tokens) {
      if (norm) own.norm(norms, p.eps);
      if (turns) own.turn(cosines, sines, lane);
    }
    if (is_q) {
      const auto e = own.exchanged(lane, 2);
      uint16_t* const to = QueryRow::at(p, head, row) + QueryRow::place((lane & ~2) * WarpHead::kEach);
      *reinterpret_cast<uint4*>(to + (e.has_rests ? kDim : 0)) =
          make_uint4(e.of_first[0], e.of_second[0], e.of_first[1], e.of_second[1]);
    } else {
      const auto e = own.exchanged(lane, 1);
      const int value = (lane & ~1) * WarpHead::kEach;
      *reinterpret_cast<uint4*>(TileRows::at(p, head - p.n_head, e.has_rests, value / kSliceValues) +
                                TileRows::place(row, value)) =
          make_uint4(e.of_first[0], e.of_first[1], e.of_second[0], e.of_second[1]);
    }
  }
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

__global__ void __launch_bounds__(kThreads, 1) attend_segments(const __grid_constant__ WideSegments p) {
  using S = Shared;
  constexpr int kMmaValues = 16, kDimSteps = kDim / kMmaValues, kKeySteps = kKeys / kMmaValues;
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
        const uint2 four = *reinterpret_cast<const uint2*>(from + part * kDim + step * kMmaValues);
        q[part][step][half] = four.x;
        q[part][step][2 + half] = four.y;
      }
    }
  }

  float out[kDim / 2] = {}, largest[2] = {kLowest, kLowest}, sums[2] = {};
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
      const int slice = i / (kSliceValues / kMmaValues), in_slice = i % (kSliceValues / kMmaValues);
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
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* const bias =
          p.bias ? p.bias + (first_token + min(rows[half], n_keys - 1)) * p.bias_stride + first : nullptr;
      float top = largest[half];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int key = 8 * i + 2 * in_group + j;
          float& score = scores[4 * i + 2 * half + j];
          score *= p.scale;
          if (bias && first + key < n_keys) score = fmaxf(score + bias[key], kLowest);
          if (first + key >= n_keys) score = kLowest;
          top = fmaxf(top, score);
        }
      }
      for (int mask = 1; mask < 4; mask *= 2) top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, mask));
      keep[half] = exp2_flushed((largest[half] - top) * kLog2OfE);
      largest[half] = top;
      const float of_top = kLog2OfWeightScale - top * kLog2OfE;
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
      for (int i = 0; i < kDim / 2; ++i) out[i] *= keep[i / 2 % 2];
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
    for (int i = 0; i < kDim / 8; ++i) {
      const int at = 8 * i + 2 * in_group;
      if (at < p.head_dim)
        *reinterpret_cast<float2*>(to + at) =
            make_float2(out[4 * i + 2 * half] / sum, out[4 * i + 2 * half + 1] / sum);
    }
  }
}

void launch_segments(Stream& stream, const WideSegments& p, int64_t n_tokens) {
  const int64_t n_heads = (p.n_head + 2 * p.n_head_kv) * static_cast<int64_t>(p.n_rows / kRoundRows);
  launch(stream, round_heads,
         {.grid = dim3(static_cast<unsigned>(div_up<int64_t>(n_heads, kRoundWarps))),
          .block = dim3(32 * kRoundWarps)},
         p);
  // A segment begins at most one tile that is not full.
  launch(
      stream, attend_segments,
      {.grid = dim3(static_cast<unsigned>(n_tokens / kRows + p.n_segments), static_cast<unsigned>(p.n_head)),
       .block = dim3(kThreads),
       .shared_bytes = kTileAlignment + sizeof(Shared)},
      p);
}

}  // namespace

bool segments_wide_serves(Stream& stream, const SegmentAttentionArgs& args) {
  return gpu_of(stream).compute_capability == 90 && args.q.ne[0] % 4 == 0 && args.q.ne[0] > kDim / 2 &&
         args.q.ne[0] <= kDim;
}

bool segments_wide_turns(const SegmentAttentionArgs& args) {
  return args.q.ne[0] == kDim && args.style == RopeStyle::halves && 2 * args.angles.ne[0] == args.q.ne[0];
}

void run_segments_wide(Stream& stream, const SegmentAttentionArgs& args) {
  const auto floats = [](const Tensor& x) { return x ? x.as<const float>() : nullptr; };
  const int64_t n_tokens = args.q.ne[2];
  if (n_tokens == 0) return;
  const WideSegments p{
      segments_of(args),
      floats(args.q_norm),
      floats(args.k_norm),
      floats(args.angles),
      args.eps,
      reinterpret_cast<uint16_t*>(scratch_of(stream)),
      static_cast<int>(padded_rows(n_tokens, args.bounds.n_elements() - 1)),
  };
  launch_segments(stream, p, n_tokens);
}

#else

bool segments_wide_serves(Stream&, const SegmentAttentionArgs&) {
  return false;
}
bool segments_wide_turns(const SegmentAttentionArgs&) {
  return false;
}
void run_segments_wide(Stream&, const SegmentAttentionArgs&) {}

#endif

}  // namespace parlance::cuda::attention
