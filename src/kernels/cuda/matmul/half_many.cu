// 17 to 64 tokens times f16 or bf16 weights on the tensor cores of compute capability 9.0, which take both
// from shared memory while threads go on: bound by the memory that weights come from, where those of 8.0 are
// by arithmetic, since tokens are two floats each. A block has a tile of rows, which may be of several
// outputs, and some parts of it, in steps of 64 values. One copy brings a step of the tokens, which lie as
// the tensor cores want them. The sums are those of half_gemv and half_gemm: instructions add up sixteen
// values, first with the larger floats of x, then with the smaller, and the tensor cores do that alike in all
// of them.
#include "kernels/cuda/matmul/half_many.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/half_few.h"
#include "kernels/cuda/matmul/many_parts.cuh"
#include "kernels/cuda/matmul/shared_tile.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

#if PARLANCE_HAS_WARPGROUPS

namespace {

constexpr int kStepPieces = kHalfStepValues / kPieceValues;  // of a row
constexpr int kMmaSteps = kHalfStepValues / kMmaValues;

// A block of so many warpgroups.
template <int kGroups>
struct Tile {
  static constexpr int kThreads = kGroups * kWarpgroupThreads, kRows = kGroups * kWarpgroupRows;
  // Steps are on their way kAhead steps before they are multiplied, when their room is that of the step
  // before the last: enough for the weights of a multiprocessor's share of the memory's speed.
  static constexpr int kAhead = kGroups == 4 ? 2 : kGroups == 3 ? 3 : 4, kStages = kAhead + 2;
  static constexpr int kWeightBytes = kRows * kSwizzledRowBytes;
  static constexpr int kStageBytes = kWeightBytes + ManyActivations::kStepBytes;
  static constexpr size_t kSharedBytes = kTileAlignment + kStages * kStageBytes;
};
static_assert(ManyParts::kGroupRows == kWarpgroupRows);
using OfGroup = TileShares<kWarpgroupThreads, kWarpgroupThreads / 32, 1, kManyTokens / 8>;

// The group of rows that row `row` of this block's tile belongs to; behind the last one, it is meant.
template <int kGroups>
__device__ int group_of_row(const Products& p, int row) {
  return min(static_cast<int>(blockIdx.y) * kGroups + row / kWarpgroupRows, p.n_tiles - 1);
}

// A thread's pieces of every step; where they are is worked out once.
template <int kGroups>
class Rows {
  static constexpr int kThreads = Tile<kGroups>::kThreads,
                       kPieces = Tile<kGroups>::kRows * kStepPieces / kThreads;

 public:
  __device__ explicit Rows(const Products& p)
      : n_bytes_(p.n_in * static_cast<int>(sizeof(uint16_t)) - piece() * kPieceBytes) {
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const ManyGroup group(p, group_of_row<kGroups>(p, row(i)));
      const int own = row(i) % kWarpgroupRows, in_group = p.is_gated ? own / 16 * 8 + own % 8 : own;
      const Output& of = p.is_gated && own % 16 >= 8 ? p.outputs[1] : group.output;
      // Behind the last row that exists, it is meant: nobody asks for what comes of it.
      const int of_output = min(group.first + in_group, group.output.n_out - 1);
      rows_[i] = of.weight + of_output * of.row_bytes + piece() * kPieceBytes;
    }
  }

  // Values past the end of a row are zero.
  __device__ void copy(uint8_t* stage, int step) const {
    const int at = step * kSwizzledRowBytes;
    const bool exists = at < n_bytes_;
#pragma unroll
    for (int i = 0; i < kPieces; ++i)
      copy_piece(stage + swizzled_place(row(i), piece()), rows_[i] + (exists ? at : 0),
                 exists ? kPieceBytes : 0);
  }

 private:
  __device__ static int piece() {
    return static_cast<int>(threadIdx.x) % kStepPieces;
  }
  __device__ static int row(int i) {
    return i * (kThreads / kStepPieces) + static_cast<int>(threadIdx.x) / kStepPieces;
  }

  const int n_bytes_;  // of a row, from this thread's first piece on
  const uint8_t* rows_[kPieces];
};

template <class Product>
__device__ void multiply_group(float (&sums)[kManyTokens / 2], uint64_t a, uint64_t b) {
  if constexpr (std::is_same_v<Product, F16Product>) {
    multiply_warpgroup_f16(sums, a, b);
  } else {
    multiply_warpgroup_bf16(sums, a, b);
  }
}

// What a warpgroup has of a part of its group.
template <int kGroups>
__device__ void leave_part(const Products& p, const ManyParts& left, int part, const OfGroup::Sums& sums) {
  const int group =
      static_cast<int>(blockIdx.y) * kGroups + static_cast<int>(threadIdx.x) / kWarpgroupThreads;
  if (group >= p.n_tiles) return;
  float* const to = left.of_group(part, group) + OfGroup::token(0, 0) * kWarpgroupRows + OfGroup::row(0, 0);
#pragma unroll
  for (int n = 0; n < kManyTokens / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) __stcg(to + (8 * n + e % 2) * kWarpgroupRows + e / 2 * 8, sums[0][n][e]);
  }
}

// Block (1, tile of rows, its parts). Where blocks share a tile, they have no sums of several parts, and
// fewer registers: tokens are rounded beside them while their first weights are on their way.
template <class Product, int kGroups, bool kIsSplit>
__global__ void __maxnreg__(kIsSplit ? 80 : 128)
    multiply_many(const __grid_constant__ Products p, const ManyActivations x, const Parts parts,
                  const Split split, const ManyParts left, MatmulEnd end_of_rows) {
  using T = Tile<kGroups>;
  extern __shared__ uint8_t dynamic[];
  __shared__ Arrivals tokens_there[T::kStages];
  __shared__ alignas(kPieceBytes) float scales[kMostParts][kManyTokens];
  let_next_start();
  start_arrivals(tokens_there);
  uint8_t* const shared = first_tile(dynamic);
  const int first_part = blockIdx.z * split.parts_per_block;
  const int end_part = min(first_part + split.parts_per_block, parts.n);
  const int begin = first_part * parts.units;
  const int end = min(end_part * parts.units, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
  const Rows<kGroups> rows(p);
  const auto stage = [&](int step) { return shared + (step - begin) % T::kStages * T::kStageBytes; };
  const auto bring_weights = [&](int step) {
    if (step < end) rows.copy(stage(step), step);
    end_copy_group();
  };
  const auto bring_tokens = [&](int step) {
    if (threadIdx.x == 0 && step < end)
      tokens_there[(step - begin) % T::kStages].arrive_with(stage(step) + T::kWeightBytes, x.step(step),
                                                            ManyActivations::kStepBytes);
  };
  for (int i = 0; i < T::kAhead; ++i) bring_weights(begin + i);
  wait_for_previous();
  if (threadIdx.x == 0) {  // with the first step's tokens, which are waited for first
    const uint32_t n_bytes = (end_part - first_part) * kManyTokens * static_cast<int>(sizeof(float));
    tokens_there[0].arrive_before(ManyActivations::kStepBytes + n_bytes);
    tokens_there[0].copy(stage(begin) + T::kWeightBytes, x.step(begin), ManyActivations::kStepBytes);
    tokens_there[0].copy(scales, x.scales + first_part * kManyTokens, n_bytes);
  }
  for (int i = 1; i < T::kAhead; ++i) bring_tokens(begin + i);

  using Sums = OfGroup::Sums;
  const int lane = threadIdx.x % 32;
  float total[kManyTokens / 2] = {};
  for (int part = first_part; part < end_part; ++part) {
    float sums[kManyTokens / 2] = {};
    const int part_end = min((part + 1) * parts.units, end);
    for (int step = part * parts.units; step < part_end; ++step) {
      wait_for_copies<T::kAhead - 1>();
      show_to_tensor_cores();
      tokens_there[(step - begin) % T::kStages].wait((step - begin) / T::kStages);
      __syncthreads();  // the step is there for all threads, and none multiplies the one before the last
      const uint64_t a = tile_descriptor(stage(step) + static_cast<int>(threadIdx.x) / kWarpgroupThreads *
                                                           kWarpgroupRows * kSwizzledRowBytes);
      const uint64_t b = tile_descriptor(stage(step) + T::kWeightBytes);
      constexpr uint64_t kHalfUnits = ManyActivations::kHalfBytes / 16, kMmaUnits = kMmaValues * 2 / 16;
      pin_sums(sums);
      begin_warpgroup_products();
#pragma unroll
      for (int k = 0; k < kMmaSteps; ++k) {
#pragma unroll
        for (int half = 0; half < kHalves; ++half)
          multiply_group<Product>(sums, a + k * kMmaUnits, b + half * kHalfUnits + k * kMmaUnits);
      }
      end_warpgroup_group();
      bring_tokens(step + T::kAhead);
      bring_weights(step + T::kAhead);
      wait_for_products<1>();
    }
    wait_for_products<0>();
    pin_sums(sums);
    auto& of_part = reinterpret_cast<Sums&>(sums);
#pragma unroll
    for (int n = 0; n < kManyTokens / 8; ++n) {
      const float2 scale = *reinterpret_cast<const float2*>(&scales[part - first_part][8 * n + lane % 4 * 2]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float& sum = of_part[0][n][e];
        sum = __fmul_rn(sum, e % 2 == 0 ? scale.x : scale.y);
        if constexpr (!kIsSplit) total[4 * n + e] = add_part(total[4 * n + e], sum);
      }
    }
    if constexpr (kIsSplit) leave_part<kGroups>(p, left, part, of_part);
  }
  if constexpr (!kIsSplit) {
    const int group =
        static_cast<int>(blockIdx.y) * kGroups + static_cast<int>(threadIdx.x) / kWarpgroupThreads;
    if (group >= p.n_tiles) return;
    const ManyGroup of(p, group);
    finish_tile<OfGroup>(p, of.output, p.is_gated ? 2 * of.first : of.first, reinterpret_cast<Sums&>(total),
                         end_of_rows);
  }
}

// How many tiles of so many groups products make, and how blocks share them.
template <int kGroups>
struct Tiles {
  int n;
  Split split;

  Tiles(Stream& stream, const Products& products, const Parts& parts, float* sums)
      : n(div_up(products.n_tiles, kGroups)),
        split(split_parts(stream, n, parts, Tile<kGroups>::kSharedBytes, Tile<kGroups>::kRows * kManyTokens,
                          sums)) {}

  // Steps that pass until the last block is done, in rows: those of weights, and of tokens, which come from
  // nearer.
  int64_t time(Stream& stream) const {
    const int rounds = div_up(n * split.n_blocks, gpu_of(stream).n_multiprocessors);
    return int64_t{rounds} * split.parts_per_block * (Tile<kGroups>::kRows + kManyTokens);
  }
};

template <class Product, int kGroups>
ManyParts launch_many(Stream& stream, const Products& products, const Parts& parts, MatmulEnd end,
                      const ManyActivations& x) {
  using T = Tile<kGroups>;
  const auto [n_tiles, split] = Tiles<kGroups>(stream, products, parts, x.part_sums);
  const ManyParts left{split.sums, products.n_tiles, parts.n};
  launch(stream, split.sums ? multiply_many<Product, kGroups, true> : multiply_many<Product, kGroups, false>,
         {.grid = dim3(1, static_cast<unsigned>(n_tiles), static_cast<unsigned>(split.n_blocks)),
          .block = dim3(T::kThreads),
          .shared_bytes = T::kSharedBytes,
          .takes_most_shared = true},
         products, x, parts, split, left, end);
  return left;
}

template <class Product>
ManyParts choose_tile(Stream& stream, const Products& products, MatmulEnd end, const ManyActivations& x) {
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  const auto time_of = [&](auto n_groups) {
    return Tiles<decltype(n_groups)::value>(stream, products, parts, nullptr).time(stream);
  };
  const int64_t of_four = time_of(std::integral_constant<int, 4>()),
                of_three = time_of(std::integral_constant<int, 3>()),
                of_two = time_of(std::integral_constant<int, 2>());
  const int64_t least = std::min({of_four, of_three, of_two});
  const auto run = least == of_four    ? launch_many<Product, 4>
                   : least == of_three ? launch_many<Product, 3>
                                       : launch_many<Product, 2>;
  return run(stream, products, parts, end, x);
}

Products products_in_groups(const FusedMatmulArgs& args, DType dtype) {
  return products_of(args, dtype, kWarpgroupRows);
}

ManyParts multiply_in_groups(Stream& stream, const Products& products, DType dtype, MatmulEnd end,
                             const ManyActivations& x) {
  const auto run = dtype == DType::bf16 ? choose_tile<Bf16Product> : choose_tile<F16Product>;
  return run(stream, products, end, x);
}

}  // namespace

bool half_many_serves(int compute_capability, int64_t n_tokens) {
  return compute_capability == 90 && n_tokens > kMostFewTokens && n_tokens <= kManyTokens;
}

void half_many(Stream& stream, const FusedMatmulArgs& args, DType dtype, const ManyActivations& x) {
  const Products products = products_in_groups(args, dtype);
  const ManyParts parts = multiply_in_groups(stream, products, dtype, args.end, x);
  if (!parts.sums) return;
  const int n_fours = products.n_tiles * kWarpgroupRows / (args.end == MatmulEnd::gate ? 8 : 4);
  launch(stream,
         args.end == MatmulEnd::gate  ? add_many_parts<MatmulEnd::gate>
         : args.end == MatmulEnd::add ? add_many_parts<MatmulEnd::add>
                                      : add_many_parts<MatmulEnd::store>,
         {.grid = dim3(static_cast<unsigned>(div_up(n_fours, kAddThreads)),
                       static_cast<unsigned>(products.n_tokens)),
          .block = dim3(kAddThreads)},
         products, parts);
}

ManyParts half_many_parts(Stream& stream, const FusedMatmulArgs& args, DType dtype,
                          const ManyActivations& x) {
  return multiply_in_groups(stream, products_in_groups(args, dtype), dtype, args.end, x);
}

#else

bool half_many_serves(int, int64_t) {
  return false;
}
void half_many(Stream&, const FusedMatmulArgs&, DType, const ManyActivations&) {}
ManyParts half_many_parts(Stream&, const FusedMatmulArgs&, DType, const ManyActivations&) {
  return {};
}

#endif

}  // namespace parlance::cuda
