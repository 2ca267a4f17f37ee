// Tokens times weights that are kept as f16 (WidensWeights), on the tensor cores of compute capability 9.0,
// which take both from shared memory. Both lie in memory as they do there, in steps of 64 values. Tokens are
// some hundreds: where there are few tiles, blocks of a cluster have parts of n_in of the same tile, and each
// adds up some of its tokens' sums, in the order of the parts, from the shared memory of all. Of more tokens,
// sums of parts take less time by way of memory (wide_kept_many.cu).
#include "kernels/cuda/matmul/wide_kept.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/run_codes.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/runtime/launch_clusters.h"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

#if PARLANCE_HAS_WARPGROUPS

namespace {

struct KeptOutput {
  const uint8_t* tiles;
  const float* row_scales;  // or null
  const float* bias;        // or null
  const float* longest;     // row
  float* out;               // [n_out, n_tokens]
  int n_out, n_rows;
  int first_tile;
};

struct KeptProducts {
  KeptOutput outputs[MatmulArgs::kMaxOutputs];
  int n_outputs;
  int n_tiles;  // of rows, of all outputs
  int n_steps;  // of a pass
  // With rests there are three: of both, of the weights' rests with tokens, of weights with the tokens'.
  int n_passes;
  int n_tokens;
  bool is_gated;  // as Products::is_gated
};

constexpr int kGroups = 2, kThreads = kGroups * kWarpgroupThreads, kWarps = kThreads / 32;
constexpr int kRows = kGroups * kWarpgroupRows;
constexpr int kGroupBytes = kWarpgroupRows * kSwizzledRowBytes;
constexpr int kMmaSteps = kHalfStepValues / kMmaValues;
static_assert(kRows == KeptWeight::kRowUnit);

template <int kTokens>
struct Tile {
  // Steps are on their way kAhead steps before they are multiplied. Two blocks share a multiprocessor: there
  // is no room for a step to be multiplied while the one before still is.
  static constexpr int kStages = kTokens == 128 ? 3 : 4, kAhead = kStages - 1;
  static constexpr int kStageBytes = kRows * kSwizzledRowBytes + kTokens * kSwizzledRowBytes;
  static constexpr size_t kSharedBytes = kTileAlignment + kStages * kStageBytes;
  static constexpr int kSumsStride = kRows + 4;  // of a token's sums: those of four tokens in different banks
  static_assert(kTokens * kSumsStride * sizeof(float) <= kStages * kStageBytes);
};

// The grid: clusters of blocks for parts of n_in of a tile; tiles of tokens that share rows run side by side.
struct Clusters {
  int parts;
  int n_token_tiles;
  int part_steps;
};

struct KeptPlace {
  int part;
  int token_tile, row_tile;

  __device__ KeptPlace(const Clusters& c) {
    const int tile = static_cast<int>(blockIdx.x) / c.parts;
    part = static_cast<int>(blockIdx.x) % c.parts;
    token_tile = tile % c.n_token_tiles;
    row_tile = tile / c.n_token_tiles;
  }
};

__device__ inline unsigned address_in_block(const void* p, int rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(p)), "r"(rank));
  return there;
}
__device__ inline float4 load_from_block(const float* own, int rank) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address_in_block(own, rank)));
  return v;
}
// A thread's pieces of the steps of a block.
template <int kTokens>
class Steps {
  using T = Tile<kTokens>;

 public:
  __device__ Steps(const KeptProducts& p, const WideActivations& x, const KeptPlace& place) {
    int i = 0;
    while (i + 1 < p.n_outputs && place.row_tile >= p.outputs[i + 1].first_tile) ++i;
    const KeptOutput& output = p.outputs[i];
    const int first_row = (place.row_tile - output.first_tile) * (p.is_gated ? kWarpgroupRows : kRows);
    for (int group = 0; group < kGroups; ++group) {
      const uint8_t* const tiles = p.is_gated ? p.outputs[group].tiles : output.tiles;
      rows_[group] =
          tiles +
          static_cast<int64_t>(first_row + (p.is_gated ? 0 : group * kWarpgroupRows)) * kSwizzledRowBytes +
          piece_bytes();
    }
    rows_stride_ = static_cast<int64_t>(output.n_rows) * kSwizzledRowBytes;
    tokens_ = reinterpret_cast<const uint8_t*>(x.step(0, place.token_tile * kTokens)) + piece_bytes();
    tokens_stride_ = static_cast<int64_t>(x.n_tokens) * kSwizzledRowBytes;
    token_bytes_ = min(kTokens, x.n_tokens - place.token_tile * kTokens) * kSwizzledRowBytes;
    n_steps_ = p.n_steps;
  }

  __device__ void bring_rows(uint8_t* stage, int step) const {
    const int pass = step / n_steps_, of_pass = step % n_steps_;
    const int64_t at = (pass == 1 ? n_steps_ + of_pass : of_pass) * rows_stride_;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int i = 0; i < kGroupBytes; i += kAtOnce)
        copy_piece(stage + group * kGroupBytes + i + piece_bytes(), rows_[group] + at + i);
    }
  }
  __device__ void bring_tokens(uint8_t* stage, int step) const {
    const int pass = step / n_steps_, of_pass = step % n_steps_;
    const int64_t at = (pass == 2 ? n_steps_ + of_pass : of_pass) * tokens_stride_;
#pragma unroll
    for (int i = 0; i < kTokens * kSwizzledRowBytes; i += kAtOnce) {
      if (i + piece_bytes() < token_bytes_)
        copy_piece(stage + kRows * kSwizzledRowBytes + i + piece_bytes(), tokens_ + at + i);
    }
  }

 private:
  static constexpr int kAtOnce = kThreads * kPieceBytes;
  static_assert(kGroupBytes % kAtOnce == 0);
  __device__ static int piece_bytes() {
    return static_cast<int>(threadIdx.x) * kPieceBytes;
  }

  const uint8_t* rows_[kGroups];
  const uint8_t* tokens_;
  int64_t rows_stride_, tokens_stride_;  // of steps
  int token_bytes_, n_steps_;
};

// Four sums of a token from all parts, in their order.
template <bool kHasParts>
__device__ float4 sums_of_parts(const float* sums, int n_parts) {
  if constexpr (!kHasParts) return *reinterpret_cast<const float4*>(sums);
  float4 of[kMostClusterBlocks] = {};
#pragma unroll
  for (int part = 0; part < static_cast<int>(kMostClusterBlocks); ++part) {
    if (part < n_parts) of[part] = load_from_block(sums, part);
  }
  float4 total{};
#pragma unroll
  for (int part = 0; part < static_cast<int>(kMostClusterBlocks); ++part) {
    if (part >= n_parts) continue;
    total.x = add_part(total.x, of[part].x);
    total.y = add_part(total.y, of[part].y);
    total.z = add_part(total.z, of[part].z);
    total.w = add_part(total.w, of[part].w);
  }
  return total;
}

// What four rows of an output's do to the sums of every token.
struct FourRows {
  float* out;
  int64_t stride;  // of tokens
  int n;           // that exist; none or less, perhaps
  bool are_aligned;
  float4 scales, bias;

  __device__ FourRows(const KeptOutput& output, int row)
      : out(output.out + row),
        stride(output.n_out),
        n(output.n_out - row),
        are_aligned(output.n_out % 4 == 0 && reinterpret_cast<uintptr_t>(output.out) % sizeof(float4) == 0) {
    scales = make_float4(1, 1, 1, 1);
    bias = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i >= n) continue;
      if (output.row_scales) of(scales)[i] = output.row_scales[row + i];
      if (output.bias) of(bias)[i] = output.bias[row + i];
    }
  }

  __device__ static float* of(float4& v) {
    return reinterpret_cast<float*>(&v);
  }

  __device__ float4 finished(const float4& sums, float token_scale) const {
    return make_float4(sums.x * token_scale * scales.x + bias.x, sums.y * token_scale * scales.y + bias.y,
                       sums.z * token_scale * scales.z + bias.z, sums.w * token_scale * scales.w + bias.w);
  }
  __device__ float4 load(int token) const {
    const float* const from = out + token * stride;
    if (are_aligned) return n > 0 ? *reinterpret_cast<const float4*>(from) : float4{};
    float4 v{};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < n) of(v)[i] = from[i];
    }
    return v;
  }
  __device__ void store(int token, float4 v) const {
    float* const to = out + token * stride;
    if (are_aligned) {
      if (n > 0) *reinterpret_cast<float4*>(to) = v;
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < n) to[i] = of(v)[i];
    }
  }
};

// Four gates of a token from row `row` on, those of a run in eight lanes next to each other: rounded to codes
// and then to f16. No gate is larger than the product of what it is made of, nor these than rows and token
// allow: so the scale is known before the token's others are. `lanes`: those of the warp that are here.
__device__ inline void store_rounded(const WideActivations& out, int row, int token, const float4& gates,
                                     float most, unsigned lanes) {
  const float scale = scale_for_f16(most), inverse = inverse_of_power_of_two(scale);
  if (row == 0) out.scales[token] = scale;
  const float4 v = rounded_to_codes(gates, lanes);
  const __half2 pairs[2] = {__floats2half2_rn(v.x * inverse, v.y * inverse),
                            __floats2half2_rn(v.z * inverse, v.w * inverse)};
  auto* const step = reinterpret_cast<uint8_t*>(out.step(row / kHalfStepValues, 0));
  const int at = row % kHalfStepValues;
  *reinterpret_cast<uint2*>(step + swizzled_place(token, at / kPieceValues) +
                            at % kPieceValues * static_cast<int>(sizeof(uint16_t))) =
      reinterpret_cast<const uint2&>(pairs);
}

template <int kTokens, bool kHasParts>
__global__ void __launch_bounds__(kThreads, 2)
    multiply_kept(const __grid_constant__ KeptProducts p, const __grid_constant__ WideActivations x,
                  const __grid_constant__ Clusters c, MatmulEnd matmul_end,
                  const __grid_constant__ WideActivations rounded) {
  using T = Tile<kTokens>;
  extern __shared__ uint8_t dynamic[];
  __shared__ float token_scales[kTokens], token_lengths[kTokens];
  let_next_start();
  uint8_t* const shared = first_tile(dynamic);
  const KeptPlace place(c);
  const Steps<kTokens> steps(p, x, place);
  const int begin = place.part * c.part_steps;
  const int n_steps = min(c.part_steps, p.n_steps * p.n_passes - begin);  // none, perhaps, or less
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const auto stage = [&](int i) { return shared + i % T::kStages * T::kStageBytes; };
  const auto bring_rows = [&](int i) {
    if (i < n_steps) steps.bring_rows(stage(i), begin + i);
  };
  const auto bring_tokens = [&](int i) {
    if (i < n_steps) steps.bring_tokens(stage(i), begin + i);
    end_copy_group();
  };
  for (int i = 0; i < T::kAhead; ++i) bring_rows(i);
  wait_for_previous();
  for (int i = 0; i < T::kAhead; ++i) bring_tokens(i);
  const int first_token = place.token_tile * kTokens;
  if (const int t = first_token + static_cast<int>(threadIdx.x); threadIdx.x < kTokens && t < p.n_tokens) {
    token_scales[threadIdx.x] = x.scales[t];
    token_lengths[threadIdx.x] = x.lengths[t];
  }

  const int group = warp / (kWarpgroupThreads / 32);
  float sums[kTokens / 2] = {};
  for (int i = 0; i < n_steps; ++i) {
    wait_for_copies<T::kAhead - 1>();
    show_to_tensor_cores();
    __syncthreads();  // the step is there for all threads, and none multiplies what lies where the next goes
    const uint64_t a = tile_descriptor(stage(i) + group * kGroupBytes);
    const uint64_t b = tile_descriptor(stage(i) + kRows * kSwizzledRowBytes);
    pin_sums(sums);
    begin_warpgroup_products();
#pragma unroll
    for (int k = 0; k < kMmaSteps; ++k) multiply_warpgroup_f16(sums, a + 2 * k, b + 2 * k);
    end_warpgroup_group();
    bring_rows(i + T::kAhead);
    bring_tokens(i + T::kAhead);
    wait_for_products<0>();
  }
  pin_sums(sums);
  __syncthreads();  // nobody multiplies what lies where the sums go

  auto* const room = reinterpret_cast<float*>(shared);
  {
    const int row = group * kWarpgroupRows + warp % 4 * 16 + lane / 4;
#pragma unroll
    for (int n = 0; n < kTokens / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        room[(8 * n + lane % 4 * 2 + e % 2) * T::kSumsStride + row + e / 2 * 8] = sums[4 * n + e];
    }
  }
  if constexpr (kHasParts) {
    arrive_in_cluster();
    wait_for_cluster();
  } else {
    __syncthreads();
  }

  int i = 0;
  while (i + 1 < p.n_outputs && place.row_tile >= p.outputs[i + 1].first_tile) ++i;
  const KeptOutput& output = p.outputs[i];
  const int n_own = kTokens / c.parts, first_own = place.part * n_own;
  const int n_exist = min(n_own, p.n_tokens - first_token - first_own);
  const auto sums_at = [&](int token, int row) {
    return sums_of_parts<kHasParts>(room + (first_own + token) * T::kSumsStride + row, c.parts);
  };
  constexpr int kAtOnce = 4;
  if (!p.is_gated) {
    const int row = 4 * lane;
    const FourRows rows(output, (place.row_tile - output.first_tile) * kRows + row);
    const bool is_added = matmul_end == MatmulEnd::add;
    for (int first = warp; first < n_exist; first += kWarps * kAtOnce) {
      float4 before[kAtOnce] = {};
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int t = first + u * kWarps;
        if (is_added && t < n_exist) before[u] = rows.load(first_token + first_own + t);
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int t = first + u * kWarps;
        if (t >= n_exist) continue;
        float4 v = rows.finished(sums_at(t, row), token_scales[first_own + t]);
        if (is_added)
          v = make_float4(before[u].x + v.x, before[u].y + v.y, before[u].z + v.z, before[u].w + v.w);
        rows.store(first_token + first_own + t, v);
      }
    }
  } else {
    const int row = 4 * (lane % 16), first_row = place.row_tile * kWarpgroupRows + row;
    const FourRows of_gate(output, first_row), of_up(p.outputs[1], first_row);
    const float longest = rounded.halves ? *p.outputs[0].longest * *p.outputs[1].longest : 0;
#pragma unroll 2
    for (int t = 2 * warp + lane / 16; t < n_exist; t += 2 * kWarps) {
      const int token = first_token + first_own + t;
      const float scale = token_scales[first_own + t];
      const float4 gate = of_gate.finished(sums_at(t, row), scale),
                   up = of_up.finished(sums_at(t, kWarpgroupRows + row), scale);
      const float4 gates =
          make_float4(silu(gate.x) * up.x, silu(gate.y) * up.y, silu(gate.z) * up.z, silu(gate.w) * up.w);
      if (rounded.halves) {
        const float length = token_lengths[first_own + t];
        const bool are_both = t - lane / 16 + 1 < n_exist;
        store_rounded(rounded, first_row, token, gates, longest * length * length,
                      are_both ? kAllLanes : kAllLanes >> 16);
      } else {
        of_gate.store(token, gates);
      }
    }
  }
  if constexpr (kHasParts) {  // others read what this block has summed up
    arrive_in_cluster();
    wait_for_cluster();
  }
}

struct Choice {
  int tile_tokens;
  Clusters clusters;
};

// By the time that it takes, about, in steps of a block that has a multiprocessor for itself. Two that share
// one take a little longer than each alone.
Choice choose(Stream& stream, const KeptProducts& plain) {
  constexpr float kOfBlock = 2, kOfParts = 1.5F, kNarrowStep = 0.6F, kTogether = 1.4F;
  const int n_steps = plain.n_steps * plain.n_passes;
  const int n_multiprocessors = gpu_of(stream).n_multiprocessors;
  Choice best{};
  float least = std::numeric_limits<float>::max();
  for (const int tokens : {128, 64}) {
    const int n_token_tiles = div_up(plain.n_tokens, tokens);
    for (int parts = 1; parts <= static_cast<int>(kMostClusterBlocks); parts *= 2) {
      const int part_steps = div_up(n_steps, parts), n_blocks = n_token_tiles * plain.n_tiles * parts;
      const int left = n_blocks % (2 * n_multiprocessors);
      const float rounds = static_cast<float>(n_blocks / (2 * n_multiprocessors)) * kTogether +
                           (left > n_multiprocessors ? kTogether
                            : left > 0               ? 1.0F
                                                     : 0.0F);
      const float of_block = static_cast<float>(part_steps) * (tokens == 64 ? kNarrowStep : 1.0F) + kOfBlock +
                             (parts > 1 ? kOfParts : 0.0F);
      if (rounds * of_block >= least) continue;
      least = rounds * of_block;
      best = {tokens, {parts, n_token_tiles, part_steps}};
    }
  }
  return best;
}

KeptProducts products_of_kept(const MatmulArgs& args, DType dtype, int rows_per_tile) {
  KeptProducts products{};
  products.n_tokens = static_cast<int>(args.x.n_rows());
  for (int i = 0; i < args.n_outputs; ++i) {
    const Linear& linear = args.w[static_cast<size_t>(i)];
    const int n_out = static_cast<int>(linear.weight.n_rows());
    if (linear.weight.dtype != dtype || n_out == 0) continue;
    const KeptWeight kept(dtype, linear.weight.ne[0], n_out);
    products.n_steps = kept.n_steps;
    products.n_passes = kept.has_rests ? 3 : 1;
    const auto* const tiles = reinterpret_cast<const uint8_t*>(kept_copy_of(linear.weight));
    products.outputs[products.n_outputs++] = {
        .tiles = tiles,
        .row_scales =
            kept.has_rests ? reinterpret_cast<const float*>(tiles + 2 * kept.part_bytes()) : nullptr,
        .bias = linear.bias.as<const float>(),
        .longest = reinterpret_cast<const float*>(tiles + kept.length_at()),
        .out = args.out[static_cast<size_t>(i)].as<float>(),
        .n_out = n_out,
        .n_rows = kept.n_rows,
        .first_tile = products.n_tiles,
    };
    products.n_tiles += div_up(n_out, rows_per_tile);
  }
  return products;
}

template <int kTokens>
void launch_kept(Stream& stream, const KeptProducts& p, const WideActivations& x, const Clusters& c,
                 MatmulEnd end, const WideActivations& rounded) {
  const int n_blocks = c.n_token_tiles * p.n_tiles * c.parts;
  launch_in_clusters(stream, c.parts > 1 ? multiply_kept<kTokens, true> : multiply_kept<kTokens, false>,
                     {.grid = dim3(static_cast<unsigned>(n_blocks)),
                      .block = dim3(kThreads),
                      .shared_bytes = Tile<kTokens>::kSharedBytes},
                     static_cast<unsigned>(c.parts), p, x, c, end, rounded);
}

}  // namespace

bool has_kept(const MatmulArgs& args, DType dtype) {
  for (int i = 0; i < args.n_outputs; ++i) {
    const Linear& linear = args.w[static_cast<size_t>(i)];
    if (linear.weight.dtype == dtype && linear.weight.n_rows() > 0 && !kept_copy_of(linear.weight))
      return false;
  }
  return true;
}

void wide_kept(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x,
               const WideActivations* rounded) {
  // Whether products end in gates does not change their sums.
  const KeptProducts plain = products_of_kept(args.products, dtype, kRows);
  const auto [tile_tokens, clusters] = choose(stream, plain);
  KeptProducts products = plain;
  if (args.end == MatmulEnd::gate) {
    MatmulArgs gate = args.products;
    gate.out[1] = gate.out[0];
    products = products_of_kept(gate, dtype, kWarpgroupRows);
    products.n_outputs = 1;
    products.n_tiles = products.outputs[1].first_tile;
    products.is_gated = true;
  }
  const auto run = tile_tokens == 64 ? launch_kept<64> : launch_kept<128>;
  run(stream, products, x, clusters, args.end, rounded ? *rounded : WideActivations{});
}

#else

bool has_kept(const MatmulArgs&, DType) {
  return false;
}
void wide_kept(Stream&, const FusedMatmulArgs&, DType, const WideActivations&, const WideActivations*) {}

#endif

}  // namespace parlance::cuda
