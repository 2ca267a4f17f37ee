// Many tokens times f16 or quantised weights on the tensor cores of compute capability 9.0, which take both
// from shared memory as f16 and sum in f32 while threads go on. A block computes kTileRows rows by kTokens
// tokens in steps of 64 values. While a step is multiplied, the rows' next one, whose blocks were copied as
// they are, becomes f16: a value is a code times a step plus a minimum, rounded once. Tokens have been
// rounded before, and lie as the tensor cores want them (halve_for_wide()), so that one copy brings a step of
// them.
#include "kernels/cuda/matmul/wide_gemm.h"

#include "base/checked.h"
#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/shared_tile.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

#if PARLANCE_HAS_WARPGROUPS

namespace {

constexpr int kThreads = 2 * kWarpgroupThreads;
constexpr int kTileRows = kThreads / kWarpgroupThreads * kWarpgroupRows;
constexpr int kStepPieces = kHalfStepValues * 2 / kPieceBytes;  // of a row
constexpr int kMmaSteps = kHalfStepValues / 16;
constexpr int kTileBytes = kTileRows * kSwizzledRowBytes;
constexpr int kUnitValues = 256, kUnitSteps = kUnitValues / kHalfStepValues;  // of parts
// Steps are on their way kAhead steps before they are multiplied, when their room is that of the step before
// the last.
constexpr int kAhead = 2, kStages = kAhead + 2;
constexpr int kMostTokens = 256;  // of a tile

// ---- Weights: what a step's tile of f16 is made of ----

struct Rows {
  const uint8_t* first;
  int64_t row_bytes;
  int n;     // that exist, from the first on
  int n_in;  // values
};

// f16 weights are what they are.
struct Halves {
  static constexpr bool kIsUnpacked = false;
  static constexpr int kTiles = kStages;
  static constexpr size_t kSharedBytes = kTiles * kTileBytes;

  __device__ static uint8_t* tile(uint8_t* shared, int step) { return shared + step % kTiles * kTileBytes; }

  __device__ static void copy(uint8_t* shared, const Rows& rows, int step) {
    const int thread = threadIdx.x, piece = thread % kStepPieces;
    const int at = (step * kStepPieces + piece) * kPieceBytes;
    uint8_t* const to = tile(shared, step);
#pragma unroll
    for (int r = thread / kStepPieces; r < kTileRows; r += kThreads / kStepPieces) {
      const bool exists = r < rows.n && at < rows.row_bytes;
      copy_piece(to + swizzled_place(r, piece), rows.first + (exists ? r * rows.row_bytes + at : 0),
                 exists ? kPieceBytes : 0);
    }
  }
  static constexpr int kRawSteps = 1;
  __device__ static void copy_raw(uint8_t*, const Rows&, int) {}
};

// Four signed codes as f16, exactly.
__device__ inline void halves_of_codes(uint32_t codes, __half2 (&out)[2]) {
  constexpr uint32_t kThousands = 0x64646464;                     // 0x64xx is 1024 + xx
  const __half2 offset = __half2half2(__ushort_as_half(0x6480));  // 1024 + 128
  const uint32_t unsigned_codes = codes ^ 0x80808080u;
  const uint32_t pairs[2] = {__byte_perm(unsigned_codes, kThousands, 0x4140),
                             __byte_perm(unsigned_codes, kThousands, 0x4342)};
#pragma unroll
  for (int i = 0; i < 2; ++i) out[i] = __hsub2(*reinterpret_cast<const __half2*>(&pairs[i]), offset);
}

constexpr size_t kMostShared = 227 << 10;

// Quantised weights: their bytes, and tiles of f16, of which one is multiplied while another is made.
template <class Type>
struct Blocks {
  static constexpr bool kIsUnpacked = true;
  // Bytes are copied for so many values at once, of two such chunks: whole blocks, and as many steps as are
  // ahead.
  static constexpr int kRawRuns = Type::kBlockRuns > 1 ? Type::kBlockRuns : 4;
  static constexpr int kRawSteps = kRawRuns * kRunValues / kHalfStepValues;
  static_assert(kRawSteps >= kAhead && kUnitSteps % kRawSteps == 0);
  static constexpr int kRawBytes = kRawRuns / Type::kBlockRuns * Type::kBlockBytes;  // of a row
  // Rows begin in different banks: an odd number of pieces apart.
  static constexpr int kRawStride = (staged_bytes(kRawBytes) / kPieceBytes | 1) * kPieceBytes;
  static constexpr int kRawTile = kTileRows * kRawStride;
  // With three, a tile is made while the two before it are multiplied.
  static constexpr size_t kTokensRoom = kTileAlignment + kStages * kMostTokens * kSwizzledRowBytes;
  static constexpr int kTiles = kTokensRoom + 3 * kTileBytes + 2 * kRawTile <= kMostShared ? 3 : 2;
  static constexpr size_t kSharedBytes = kTiles * kTileBytes + 2 * kRawTile;

  // A thread has a run of a step of a row, and brings its bytes together with the thread that has the other.
  static constexpr int kStepRuns = kHalfStepValues / kRunValues;
  static_assert(kTileRows * kStepRuns == kThreads);
  __device__ static int row() { return threadIdx.x / kStepRuns; }

  __device__ static uint8_t* tile(uint8_t* shared, int step) { return shared + step % kTiles * kTileBytes; }
  __device__ static uint8_t* raw(uint8_t* shared, int chunk) {
    return shared + kTiles * kTileBytes + chunk % 2 * kRawTile + row() * kRawStride;
  }
  // Where the row's bytes of a chunk begin. Behind the last row that exists, it is meant.
  __device__ static const uint8_t* find(const Rows& rows, int chunk) {
    return rows.first + min(row(), rows.n - 1) * rows.row_bytes + chunk * kRawBytes;
  }
  __device__ static void copy(uint8_t*, const Rows&, int) {}

  __device__ static void copy_raw(uint8_t* shared, const Rows& rows, int chunk) {
    const int n = min(kRawBytes, static_cast<int>(rows.row_bytes) - chunk * kRawBytes);
    if (n > 0)
      stage_bytes<kRawBytes, kStepRuns>(raw(shared, chunk), find(rows, chunk), n, threadIdx.x % kStepRuns);
  }

  // Runs that do not exist are zero.
  __device__ static void unpack(uint8_t* shared, const Rows& rows, int step) {
    const int run_of_step = threadIdx.x % kStepRuns;
    const int chunk = step / kRawSteps, run = step % kRawSteps * kStepRuns + run_of_step;
    Run w{};
    __syncwarp();
    if ((step * kStepRuns + run_of_step) * kRunValues < rows.n_in) {
      Type::unpack(raw(shared, chunk) + bytes_past_piece(find(rows, chunk)) +
                       run / Type::kBlockRuns * Type::kBlockBytes,
                   run % Type::kBlockRuns, w);
    }
    store(tile(shared, step), row(), run_of_step, w);
  }

  // As f16, in a tile.
  __device__ static void store(uint8_t* tile, int row, int run, const Run& w) {
#pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
      const int half = Type::kHalves ? piece / 2 : 0;
      const __half2 scale = __float2half2_rn(w.step[half]);
      uint4 values;
      auto* const pairs = reinterpret_cast<__half2*>(&values);
#pragma unroll
      for (int word = 0; word < 2; ++word) {
        __half2 codes[2];
        halves_of_codes(w.codes[2 * piece + word], codes);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if constexpr (Type::kHasMinimum) {
            pairs[2 * word + i] = __hfma2(codes[i], scale, __float2half2_rn(w.minimum[half]));
          } else {
            pairs[2 * word + i] = __hmul2(codes[i], scale);
          }
        }
      }
      *reinterpret_cast<uint4*>(tile + swizzled_place(row, run * 4 + piece)) = values;
    }
  }
};

// ---- Tokens ----

template <int kTokens>
constexpr int kTokensBytes = kTokens* kSwizzledRowBytes;

// By one thread.
template <int kTokens>
__device__ void copy_tokens(uint8_t* stage, Arrivals& there, const WideActivations& x, int first_token,
                            int step) {
  const int n = min(kTokens, x.n_tokens - first_token);
  there.arrive_with(stage, x.step(step, first_token), static_cast<uint32_t>(n * kSwizzledRowBytes));
}

template <class Weights, int kTokens>
constexpr size_t kSharedBytes = kTileAlignment + kStages* kTokensBytes<kTokens> + Weights::kSharedBytes;

template <int kTokens>
using OfTile = TileShares<kThreads, kThreads / 32, 1, kTokens / 8>;

// Block (tile of tokens, tile of rows, part). Tiles of tokens that share weights run side by side.
template <class Weights, int kTokens>
__global__ void __launch_bounds__(kThreads, 1)
    multiply_wide(const __grid_constant__ Products p, const WideActivations x, const Parts parts,
                  const Split split) {
  extern __shared__ uint8_t dynamic[];
  __shared__ Arrivals tokens_there[kStages];
  constexpr int kRawSteps = Weights::kRawSteps;
  let_next_start();
  start_arrivals(tokens_there);
  uint8_t* const shared = first_tile(dynamic);
  uint8_t* const weights = shared + kStages * kTokensBytes<kTokens>;
  const Output& output = output_of_tile(p, blockIdx.y);
  const int first_row = (static_cast<int>(blockIdx.y) - output.first_tile) * kTileRows;
  const int first_token = blockIdx.x * kTokens, part = blockIdx.z, part_steps = parts.units * kUnitSteps;
  const Rows rows{output.weight + first_row * output.row_bytes, output.row_bytes, output.n_out - first_row,
                  p.n_in};
  const int begin = part * part_steps;
  const int end = min(begin + part_steps, (p.n_in + kHalfStepValues - 1) / kHalfStepValues);
  const auto stage = [&](int step) { return shared + (step - begin) % kStages * kTokensBytes<kTokens>; };
  const auto bring_raw = [&](int chunk) { Weights::copy_raw(weights, rows, chunk); };
  const auto bring_tokens = [&](int step) {
    if (threadIdx.x == 0 && step < end)
      copy_tokens<kTokens>(stage(step), tokens_there[(step - begin) % kStages], x, first_token, step);
  };
  const auto bring_weights = [&](int step) {
    if (step < end) Weights::copy(weights, rows, step);
    end_copy_group();
  };
  const auto unpack = [&](int step) {
    if constexpr (Weights::kIsUnpacked) {
      if (step < end) Weights::unpack(weights, rows, step);
    }
  };

  static_assert(kAhead == 2);
  for (int i = 0; i < kAhead; ++i) {
    bring_raw(begin / kRawSteps + i);
    bring_weights(begin + i);
  }
  wait_for_previous();
  for (int i = 0; i < kAhead; ++i) bring_tokens(begin + i);
  wait_for_copies<kAhead - 1>();
  unpack(begin);

  float sums[kTokens / 2] = {};
  for (int step = begin; step < end; ++step) {
    wait_for_copies<kAhead - 1>();
    show_to_tensor_cores();
    tokens_there[(step - begin) % kStages].wait((step - begin) / kStages);
    __syncthreads();  // the step is there for all threads, and none multiplies the one before the last
    const uint64_t a =
        tile_descriptor(Weights::tile(weights, step) + static_cast<int>(threadIdx.x) / kWarpgroupThreads *
                                                           kWarpgroupRows * kSwizzledRowBytes);
    const uint64_t b = tile_descriptor(stage(step));
    pin_sums(sums);
    begin_warpgroup_products();
#pragma unroll
    for (int k = 0; k < kMmaSteps; ++k) multiply_warpgroup_f16(sums, a + 2 * k, b + 2 * k);
    end_warpgroup_group();

    bring_tokens(step + kAhead);
    // The last step of a chunk of bytes has been unpacked; those of the next one are there or on their way.
    if ((step + 1) % kRawSteps == 0) bring_raw((step + 1) / kRawSteps + 1);
    bring_weights(step + kAhead);
    constexpr bool kHasOtherTile = Weights::kTiles > 2;
    if constexpr (kHasOtherTile) unpack(step + 1);
    wait_for_products<1>();
    if constexpr (!kHasOtherTile) unpack(step + 1);
  }
  wait_for_products<0>();
  pin_sums(sums);

  auto& tile = reinterpret_cast<typename OfTile<kTokens>::Sums&>(sums);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kTokens / 8; ++n) {
    const int t = first_token + 8 * n + lane % 4 * 2;
    const float2 scales = t < x.n_tokens ? *reinterpret_cast<const float2*>(x.scales + t) : float2{};
#pragma unroll
    for (int e = 0; e < 4; ++e) tile[0][n][e] *= e % 2 == 0 ? scales.x : scales.y;
  }
  if (split.sums) {
    OfTile<kTokens>::leave(split, parts.n, part, tile);
    return;
  }
  const int row = first_row + static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
#pragma unroll
  for (int n = 0; n < kTokens / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int r = row + e / 2 * 8, t = first_token + 8 * n + lane % 4 * 2 + e % 2;
      if (r >= output.n_out || t >= p.n_tokens) continue;
      output.out[static_cast<int64_t>(t) * output.n_out + r] =
          tile[0][n][e] + (output.bias ? output.bias[r] : 0.0f);
    }
  }
}

template <class Weights, int kTokens>
void launch_wide(Stream& stream, const Products& products, const WideActivations& x) {
  const int n_token_tiles = div_up(products.n_tokens, kTokens);
  constexpr size_t kShared = kSharedBytes<Weights, kTokens>;
  constexpr int kTileValues = kTileRows * kTokens;
  const Parts parts = parts_for_blocks(stream, products, n_token_tiles, kUnitValues, kShared, kTileValues);
  const Split split = split_parts(stream, products, n_token_tiles, parts, kShared, kTileValues, x.part_sums);
  launch(stream, multiply_wide<Weights, kTokens>,
         {.grid = dim3(static_cast<unsigned>(n_token_tiles), static_cast<unsigned>(products.n_tiles),
                       static_cast<unsigned>(parts.n)),
          .block = dim3(kThreads),
          .shared_bytes = kShared},
         products, x, parts, split);
  launch_add_parts<OfTile<kTokens>>(stream, products, split, parts.n, n_token_tiles);
}

// The wider tile, where it is filled.
template <class Weights>
void choose_tile(Stream& stream, const Products& products, const WideActivations& x) {
  constexpr int kNarrow = 128, kWide = 256;
  const int n_padded = div_up(products.n_tokens, kWide) * kWide;
  if (4 * n_padded <= 5 * products.n_tokens) {
    launch_wide<Weights, kWide>(stream, products, x);
  } else {
    launch_wide<Weights, kNarrow>(stream, products, x);
  }
}

}  // namespace

bool has_wide_kernels(int compute_capability) {
  return compute_capability == 90;
}

bool wide_gemm_serves(Stream& stream, DType dtype, int64_t n_tokens) {
  return has_wide_kernels(gpu_of(stream).compute_capability) && dtype != DType::f32 && dtype != DType::bf16 &&
         !has_one_order(stream, n_tokens);
}

void wide_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const WideActivations& x) {
  const Products products = products_of(args, dtype, kTileRows);
  if (dtype == DType::f16) {
    choose_tile<Halves>(stream, products, x);
    return;
  }
  visit_block_type(dtype, [&](auto type) { choose_tile<Blocks<decltype(type)>>(stream, products, x); });
}

#else

bool has_wide_kernels(int) {
  return false;
}
bool wide_gemm_serves(Stream&, DType, int64_t) {
  return false;
}
void wide_gemm(Stream&, const MatmulArgs&, DType, const WideActivations&) {}

#endif

}  // namespace parlance::cuda
