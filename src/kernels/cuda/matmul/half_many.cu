// 17 to 64 tokens times f16 or bf16 weights on the tensor cores of compute capability 9.0, which take both
// from shared memory while threads go on: bound by the memory that weights come from, where those of 8.0 are
// by arithmetic, since tokens are two floats each. A block has a tile of rows and some parts of it, in steps
// of 64 values. One copy brings a step of the tokens, which lie as the tensor cores want them. The sums are
// those of half_gemv and half_gemm: instructions add up sixteen values, first with the larger floats of x,
// then with the smaller, and the tensor cores do that alike in all of them.
#include "kernels/cuda/matmul/half_many.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/half_few.h"
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
  using OfTile = TileShares<kThreads, kThreads / 32, 1, kManyTokens / 8>;
};

// A thread's pieces of every step; where they are is worked out once.
template <int kGroups>
class Rows {
  static constexpr int kThreads = Tile<kGroups>::kThreads,
                       kPieces = Tile<kGroups>::kRows * kStepPieces / kThreads;

 public:
  // Where gates are to meet others, they are the first eight of each sixteen rows: see EndOfSums.
  __device__ Rows(const Products& p, const Output& output, int first_row)
      : n_bytes_(p.n_in * static_cast<int>(sizeof(uint16_t)) - piece() * kPieceBytes) {
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const int own = row(i), in_output = p.is_gated ? own / 16 * 8 + own % 8 : own;
      const Output& of = p.is_gated && own % 16 >= 8 ? p.outputs[1] : output;
      // Behind the last row that exists, it is meant: nobody asks for what comes of it.
      const int of_output = min((p.is_gated ? first_row / 2 : first_row) + in_output, output.n_out - 1);
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

// Block (1, tile of rows, its parts). Where blocks share a tile, they have no sums of several parts, and
// fewer registers: tokens are rounded beside them while their first weights are on their way.
template <class Product, int kGroups, bool kIsSplit>
__global__ void __launch_bounds__(Tile<kGroups>::kThreads, 1)
    multiply_many(const __grid_constant__ Products p, const ManyActivations x, const Parts parts,
                  const Split split, MatmulEnd end_of_rows) {
  using T = Tile<kGroups>;
  extern __shared__ uint8_t dynamic[];
  __shared__ Arrivals tokens_there[T::kStages];
  __shared__ alignas(kPieceBytes) float scales[kMostParts][kManyTokens];
  let_next_start();
  start_arrivals(tokens_there);
  uint8_t* const shared = first_tile(dynamic);
  const Output& output = output_of_tile(p, blockIdx.y);
  const int first_row = (static_cast<int>(blockIdx.y) - output.first_tile) * T::kRows;
  const int first_part = blockIdx.z * split.parts_per_block;
  const int end_part = min(first_part + split.parts_per_block, parts.n);
  const int begin = first_part * parts.units;
  const int end = min(end_part * parts.units, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
  const Rows<kGroups> rows(p, output, first_row);
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

  using Sums = typename T::OfTile::Sums;
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
    if constexpr (kIsSplit) T::OfTile::leave(split, parts.n, part, of_part);
  }
  if constexpr (!kIsSplit)
    finish_tile<typename T::OfTile>(p, output, first_row, reinterpret_cast<Sums&>(total), end_of_rows);
}

template <int kGroups>
Split split_of(Stream& stream, const Products& products, const Parts& parts, float* sums) {
  return split_parts(stream, products, 1, parts, Tile<kGroups>::kSharedBytes,
                     Tile<kGroups>::kRows * kManyTokens, sums);
}

// Steps that pass until the last block is done, in rows: those of weights, and of tokens, which come from
// nearer.
template <int kGroups>
int64_t time_of(Stream& stream, const FusedMatmulArgs& args, DType dtype, const Parts& parts) {
  const Products products = products_of(args, dtype, Tile<kGroups>::kRows);
  const Split split = split_of<kGroups>(stream, products, parts, nullptr);
  const int rounds = div_up(products.n_tiles * split.n_blocks, gpu_of(stream).n_multiprocessors);
  return int64_t{rounds} * split.parts_per_block * (Tile<kGroups>::kRows + kManyTokens);
}

template <class Product, int kGroups>
void launch_many(Stream& stream, const FusedMatmulArgs& args, DType dtype, const ManyActivations& x) {
  using T = Tile<kGroups>;
  const Products products = products_of(args, dtype, T::kRows);
  const Parts parts = parts_of(products.n_in, kHalfStepValues);
  const Split split = split_of<kGroups>(stream, products, parts, x.part_sums);
  launch(stream, split.sums ? multiply_many<Product, kGroups, true> : multiply_many<Product, kGroups, false>,
         {.grid = dim3(1, static_cast<unsigned>(products.n_tiles), static_cast<unsigned>(split.n_blocks)),
          .block = dim3(T::kThreads),
          .shared_bytes = T::kSharedBytes,
          .takes_most_shared = true},
         products, x, parts, split, args.end);
  launch_add_parts<typename T::OfTile, true>(stream, products, split, parts.n, 1, args.end);
}

template <class Product>
void choose_tile(Stream& stream, const FusedMatmulArgs& args, DType dtype, const ManyActivations& x) {
  const Parts parts = parts_of(static_cast<int>(args.products.x.ne[0]), kHalfStepValues);
  const int64_t of_four = time_of<4>(stream, args, dtype, parts),
                of_three = time_of<3>(stream, args, dtype, parts),
                of_two = time_of<2>(stream, args, dtype, parts);
  const int64_t least = std::min({of_four, of_three, of_two});
  const auto run = least == of_four    ? launch_many<Product, 4>
                   : least == of_three ? launch_many<Product, 3>
                                       : launch_many<Product, 2>;
  run(stream, args, dtype, x);
}

}  // namespace

bool half_many_serves(int compute_capability, int64_t n_tokens) {
  return compute_capability == 90 && n_tokens > kMostFewTokens && n_tokens <= kManyTokens;
}

void half_many(Stream& stream, const FusedMatmulArgs& args, DType dtype, const ManyActivations& x) {
  const auto run = dtype == DType::bf16 ? choose_tile<Bf16Product> : choose_tile<F16Product>;
  run(stream, args, dtype, x);
}

#else

bool half_many_serves(int, int64_t) {
  return false;
}
void half_many(Stream&, const FusedMatmulArgs&, DType, const ManyActivations&) {}

#endif

}  // namespace parlance::cuda
