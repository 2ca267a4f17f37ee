// Many tokens times weights that are kept as f16, on the tensor cores of compute capability 9.0, by tiles of
// 256 tokens. Steps of weights and of tokens lie in memory as the tensor cores want them, so that a few
// instructions of one thread have them copied into a ring. Two or three warpgroups have 64 rows each. One
// block has a multiprocessor; tiles are as high as makes the last of them end first.
#include "kernels/cuda/matmul/wide_kept_many.h"

#include <algorithm>

#include "kernels/cuda/matmul/wide_heads.cuh"
#include "kernels/cuda/matmul/wide_kept.h"
#include "kernels/cuda/matmul/wide_rounded.cuh"
#include "kernels/cuda/matmul/wide_tile.cuh"

namespace parlance::cuda {

#if PARLANCE_HAS_WARPGROUPS

namespace {

using namespace wide_tile;

constexpr int kTokens = kMostTileTokens;

template <int kGroups>
struct ManyTile {
  static constexpr int kRows = kGroups * kWarpgroupRows;
  static constexpr int kBlockThreads = kGroups * kWarpgroupThreads;
  static constexpr int kStages = 4, kStageBytes = kTokensBytes<kTokens> + kRows * kSwizzledRowBytes;
  static constexpr size_t kSharedBytes = kTileAlignment + kStages * kStageBytes;
  static_assert(TileRoom<kTokens, kRows>::kBytes <= kStages * kStageBytes);
};

// The rows of a tile on their way to shared memory: of one output, or halves of both that meet.
class TileOfKept {
 public:
  __device__ TileOfKept(const Products& p, const Place& place, int tile_rows)
      : step_bytes_(place.output.row_bytes), half_bytes_(tile_rows / 2 * kSwizzledRowBytes) {
    const int64_t first = static_cast<int64_t>(place.first_row) * kSwizzledRowBytes;
    const auto exist = static_cast<int>(step_bytes_ - first);
    if (p.is_gated) {
      n_bytes_[0] = n_bytes_[1] = max(min(exist, half_bytes_), 0);
      from_[0] = p.outputs[0].weight + first;
      from_[1] = p.outputs[1].weight + first;
    } else {
      n_bytes_[0] = max(min(exist, half_bytes_), 0);
      n_bytes_[1] = max(min(exist - half_bytes_, half_bytes_), 0);
      from_[0] = place.output.weight + first;
      from_[1] = from_[0] + half_bytes_;
    }
  }
  __device__ int bytes() const { return n_bytes_[0] + n_bytes_[1]; }
  // By one thread.
  __device__ void copy(uint8_t* tile, Arrivals& there, int step) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (n_bytes_[half] > 0)
        there.copy(tile + half * half_bytes_, from_[half] + step * step_bytes_,
                   static_cast<uint32_t>(n_bytes_[half]));
    }
  }

 private:
  const int64_t step_bytes_;
  const int half_bytes_;
  int n_bytes_[2];
  const uint8_t* from_[2];
};

// What becomes of a tile: a result, or its part.
struct EndInResults {
  Parts parts;
  Split split;
  MatmulEnd end;

  template <int kGroups>
  __device__ void run(const Products& p, const WideActivations& x, const Place& place,
                      float (&sums)[kTokens / 2], uint8_t* shared) const {
    using T = ManyTile<kGroups>;
    end_tile<kTokens, T::kRows, T::kBlockThreads>(p, x, place, end, parts, split, sums, shared);
  }
};

// Or heads of q, k and v, on their way to attention.
struct EndInHeads {
  Parts parts;
  attention::RoundedHeads heads;

  template <int kGroups>
  __device__ void run(const Products& p, const WideActivations& x, const Place& place,
                      float (&sums)[kTokens / 2], uint8_t* shared) const {
    using T = ManyTile<kGroups>;
    static_assert(kHeadsRoomBytes<kTokens, T::kBlockThreads> <= T::kStages * T::kStageBytes);
    end_in_heads<kTokens, T::kRows, T::kBlockThreads>(p, x, place, heads, sums, shared);
  }
};

// Block (tile of tokens, tile of rows, part). Tiles of tokens that share weights run side by side.
template <int kGroups, class End>
__global__ void __launch_bounds__(ManyTile<kGroups>::kBlockThreads, 1)
    multiply_many_kept(const __grid_constant__ Products p, const WideActivations x,
                       const __grid_constant__ End end) {
  using T = ManyTile<kGroups>;
  extern __shared__ uint8_t dynamic[];
  __shared__ Arrivals there[T::kStages], free[T::kStages];
  if (threadIdx.x == 0) {
    for (Arrivals& of : there) of.init(1);
    for (Arrivals& of : free) of.init(T::kBlockThreads / 32);
  }
  __syncthreads();
  let_next_start();
  uint8_t* const shared = first_tile(dynamic);
  const Place place(p, end.parts, kTokens, T::kRows);
  const int n_steps = place.end - place.begin;
  const auto stage = [&](int step) { return shared + step % T::kStages * T::kStageBytes; };
  const auto tile = [&](int step) { return stage(step) + kTokensBytes<kTokens>; };

  const bool tells = threadIdx.x % 32 == 0, brings = threadIdx.x == 0;
  const TileOfKept rows(p, place, T::kRows);
  const auto token_bytes =
      static_cast<uint32_t>(min(kTokens, x.n_tokens - place.first_token) * kSwizzledRowBytes);
  const auto bring_rows = [&](int step) {
    Arrivals& of_step = there[step % T::kStages];
    of_step.arrive_before(static_cast<uint32_t>(rows.bytes()) + token_bytes);
    rows.copy(tile(step), of_step, place.begin + step);
  };
  const auto bring_tokens = [&](int step) {
    there[step % T::kStages].copy(stage(step), x.step(place.begin + step, place.first_token), token_bytes);
  };
  const int n_first = min(n_steps, T::kStages);
  for (int step = 0; brings && step < n_first; ++step) bring_rows(step);
  wait_for_previous();
  for (int step = 0; brings && step < n_first; ++step) bring_tokens(step);

  float sums[kTokens / 2] = {};
  for (int step = 0; step < n_steps; ++step) {
    there[step % T::kStages].wait(step / T::kStages);
    start_step(sums, tile(step), stage(step));
    wait_for_products<1>();
    const int before = step - 1, next = before + T::kStages;
    if (before < 0 || next >= n_steps) continue;
    if (tells) free[before % T::kStages].arrive();
    if (brings) {
      free[before % T::kStages].wait(before / T::kStages);
      bring_rows(next);
      bring_tokens(next);
    }
    __syncwarp();
  }
  wait_for_products<0>();
  pin_sums(sums);
  end.template run<kGroups>(p, x, place, sums, shared);
}

// The outputs, where they are kept: rows of a step follow each other, and steps are Output::row_bytes apart.
Products products_of_kept(const FusedMatmulArgs& args, DType dtype, int tile_rows) {
  Products products = products_of(args, dtype, tile_rows);
  int i = 0;
  for (int given = 0; given < args.products.n_outputs; ++given) {
    const Tensor& weight = args.products.w[static_cast<size_t>(given)].weight;
    if (weight.dtype != dtype || weight.n_rows() == 0) continue;
    const KeptWeight kept(dtype, weight.ne[0], weight.n_rows());
    products.outputs[i].weight = reinterpret_cast<const uint8_t*>(kept_copy_of(weight));
    products.outputs[i++].row_bytes = static_cast<int64_t>(kept.n_rows) * kSwizzledRowBytes;
  }
  return products;
}

template <int kGroups>
struct ManyShape {
  using T = ManyTile<kGroups>;
  Products plain;
  int n_token_tiles;
  Parts parts;
  Split split;

  ManyShape(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x)
      : plain(products_of_kept({args.products}, dtype, T::kRows)),
        n_token_tiles(div_up(plain.n_tokens, kTokens)) {
    constexpr int kTileValues = T::kRows * kTokens;
    parts = parts_for_blocks(stream, plain, n_token_tiles, kUnitValues, T::kSharedBytes, kTileValues);
    split = split_parts(stream, int64_t{n_token_tiles} * plain.n_tiles, parts, T::kSharedBytes, kTileValues,
                        x.part_sums);
  }

  // The time that it takes, about, in steps of a warpgroup.
  int time(Stream& stream) const {
    constexpr int kEnds = 12;
    const int n_blocks = n_token_tiles * plain.n_tiles * parts.n;
    const int n_steps = std::min(parts.units * kUnitSteps, div_up(plain.n_in, kHalfStepValues));
    return div_up(n_blocks, gpu_of(stream).n_multiprocessors) * (n_steps * kGroups + kEnds);
  }

  WideDone run(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x,
               const NextNorm* next) const {
    if (args.end == MatmulEnd::gate && parts.n > 1) return WideDone::nothing;
    const Products products = args.end == MatmulEnd::gate ? products_of_kept(args, dtype, T::kRows) : plain;
    start(stream, products, x, EndInResults{parts, split, args.end});
    if (next && split.sums) {
      launch_add_and_round<kTokens>(stream, products, split, parts.n, n_token_tiles, *next);
      return WideDone::rounded;
    }
    launch_add_parts<OfTile<kTokens>>(stream, products, split, parts.n, n_token_tiles, args.end);
    return WideDone::products;
  }

  template <class End>
  void start(Stream& stream, const Products& products, const WideActivations& x, const End& end) const {
    launch(stream, multiply_many_kept<kGroups, End>,
           shape_of_tiles<kTokens>(products, parts, T::kBlockThreads, T::kSharedBytes), products, x, end);
  }
};

}  // namespace

WideDone wide_kept_many(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x,
                        const NextNorm* next) {
  const ManyShape<2> two(stream, args, dtype, x);
  const ManyShape<3> three(stream, args, dtype, x);
  // Sums of parts lie in tiles of two warpgroups.
  const bool has_parts = two.parts.n > 1 || three.parts.n > 1;
  return has_parts || two.time(stream) <= three.time(stream) ? two.run(stream, args, dtype, x, next)
                                                             : three.run(stream, args, dtype, x, next);
}

bool wide_kept_heads(Stream& stream, const MatmulArgs& args, DType dtype, const WideActivations& x,
                     const attention::RoundedHeads& heads) {
  const ManyShape<2> two(stream, {args}, dtype, x);
  const int n_heads = heads.n_head + 2 * heads.n_head_kv;
  if (two.parts.n > 1 || two.plain.n_tiles != n_heads || heads.head_dim != attention::kRoundedDim)
    return false;
  two.start(stream, two.plain, x, EndInHeads{two.parts, heads});
  return true;
}

#else

WideDone wide_kept_many(Stream&, const FusedMatmulArgs&, DType, const WideActivations&, const NextNorm*) {
  return WideDone::nothing;
}
bool wide_kept_heads(Stream&, const MatmulArgs&, DType, const WideActivations&,
                     const attention::RoundedHeads&) {
  return false;
}

#endif

}  // namespace parlance::cuda
