// Tokens times quantised weights on the tensor cores of compute capability 9.0, which take both from shared
// memory as f16 and sum in f32 while threads go on. While a step of 64 values is multiplied, the rows' next
// one, whose blocks were copied as they are, becomes f16: a value is a code times a step plus a minimum,
// rounded once. More tokens than a few hundred meet weights that a kernel before has made f16 of: see
// widen_weights().
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/run_halves.cuh"
#include "kernels/cuda/matmul/wide_tile.cuh"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

// ---- Weights that are made f16 before ----

// A block makes so many runs, which two threads each have half of: bytes that follow each other are read and
// written together.
constexpr int kWidenThreads = 256, kWidenRuns = 2 * kWidenThreads;

// What a block copies to shared memory; runs of all of an output's rows follow each other.
template <class Type>
constexpr int kWidenBytes = kWidenRuns / Type::kBlockRuns* Type::kBlockBytes;

// Pieces i and i + 2 of a run, for i 0 or 1; `block` is where its block begins.
template <class Type>
__device__ void widen_run(const uint8_t* block, int run, int i, uint4* out) {
  Run w{};
#pragma unroll
  for (int word = 0; word < 2; ++word) {
    uint32_t codes[2];
    Type::unpack_words(block, run % Type::kBlockRuns, 2 * i + word, codes);
    w.codes[word] = codes[0], w.codes[word + 4] = codes[1];
  }
  Type::unpack_scales(block, run % Type::kBlockRuns, w);
  out[i] = halves_of_run<Type>(w, 0);
  out[i + 2] = halves_of_run<Type>(w, 2);
}

// Block (runs of an output, output).
template <class Type>
__global__ void __launch_bounds__(kWidenThreads)
    widen_rows(const __grid_constant__ Products p, uint4* out, int n_runs) {
  __shared__ __align__(kPieceBytes) uint8_t staged[staged_bytes(kWidenBytes<Type>)];
  let_next_start();
  const Output& output = p.outputs[blockIdx.y];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kWidenRuns;
  const int64_t n_left = static_cast<int64_t>(output.n_out) * n_runs - first;
  const auto n = static_cast<int>(max(min(n_left, int64_t{kWidenRuns}), int64_t{0}));
  const int thread = static_cast<int>(threadIdx.x);
  const uint8_t* const from = output.weight + first / Type::kBlockRuns * Type::kBlockBytes;
  if (n > 0)
    stage_bytes<kWidenBytes<Type>, kWidenThreads>(staged, from, n / Type::kBlockRuns * Type::kBlockBytes,
                                                  thread);
  end_copy_group();
  wait_for_copies<0>();
  __syncthreads();
  wait_for_previous();
  for (int i = 0; i < static_cast<int>(blockIdx.y); ++i)
    out += static_cast<int64_t>(p.outputs[i].n_out) * n_runs * kRunPieces;
  const uint8_t* const blocks = staged + bytes_past_piece(from);
  for (int run = thread / 2; run < n; run += kWidenThreads / 2)
    widen_run<Type>(blocks + run / Type::kBlockRuns * Type::kBlockBytes, run, thread % 2,
                    out + (first + run) * kRunPieces);
}

}  // namespace

void widen_weights(Stream& stream, DType dtype, const Products& products, std::byte* out) {
  const int n_runs = products.n_in / kRunValues;
  int64_t most = 0;
  for (int i = 0; i < products.n_outputs; ++i)
    most = std::max(most, static_cast<int64_t>(products.outputs[i].n_out) * n_runs);
  visit_block_type(dtype, [&](auto type) {
    launch(stream, widen_rows<decltype(type)>,
           {.grid = dim3(static_cast<unsigned>(div_up(most, int64_t{kWidenRuns})),
                         static_cast<unsigned>(products.n_outputs)),
            .block = dim3(kWidenThreads)},
           products, reinterpret_cast<uint4*>(out), n_runs);
  });
}

#if PARLANCE_HAS_WARPGROUPS

namespace {

using namespace wide_tile;

constexpr int kTileBytes = kTileRows * kSwizzledRowBytes;
// Steps are on their way kAhead steps before they are multiplied, when their room is that of the step before
// the last.
constexpr int kAhead = 2, kStages = kAhead + 2;
constexpr size_t kMostShared = 227 << 10;

// A thread's part of the weights: their bytes, and tiles of f16, of which one is multiplied while another is
// made. It has a run of a step of a row, and brings its bytes together with the thread that has the other.
template <class Type>
class Blocks {
 public:
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
  static constexpr size_t kTokensRoom = kTileAlignment + kStages * kMostTileTokens * kSwizzledRowBytes;
  static constexpr int kTiles = kTokensRoom + 3 * kTileBytes + 2 * kRawTile <= kMostShared ? 3 : 2;
  static constexpr size_t kSharedBytes = kTiles * kTileBytes + 2 * kRawTile;

  // Behind the last row that exists, it is meant.
  __device__ Blocks(uint8_t* shared, const Products& p, const Place& place)
      : shared_(shared),
        raw_(shared + kTiles * kTileBytes + row() * kRawStride),
        first_(place.rows_of(p, row() / kWarpgroupRows).row(row() % kWarpgroupRows)),
        row_bytes_(static_cast<int>(place.output.row_bytes)),
        n_in_(p.n_in) {}

  __device__ uint8_t* tile(int step) const { return shared_ + step % kTiles * kTileBytes; }

  __device__ void copy_raw(int chunk) const {
    const int n = min(kRawBytes, row_bytes_ - chunk * kRawBytes);
    if (n > 0)
      stage_bytes<kRawBytes, kStepRuns>(raw_ + chunk % 2 * kRawTile, first_ + chunk * kRawBytes, n,
                                        threadIdx.x % kStepRuns);
  }

  // Runs that do not exist are zero.
  __device__ void unpack(int step) const {
    const int run_of_step = threadIdx.x % kStepRuns;
    const int chunk = step / kRawSteps, run = step % kRawSteps * kStepRuns + run_of_step;
    Run w{};
    __syncwarp();
    if ((step * kStepRuns + run_of_step) * kRunValues < n_in_) {
      Type::unpack(raw_ + chunk % 2 * kRawTile + bytes_past_piece(first_ + chunk * kRawBytes) +
                       run / Type::kBlockRuns * Type::kBlockBytes,
                   run % Type::kBlockRuns, w);
    }
#pragma unroll
    for (int piece = 0; piece < kRunPieces; ++piece)
      *reinterpret_cast<uint4*>(tile(step) + swizzled_place(row(), run_of_step * kRunPieces + piece)) =
          halves_of_run<Type>(w, piece);
  }

 private:
  static constexpr int kStepRuns = kHalfStepValues / kRunValues;
  static_assert(kTileRows * kStepRuns == kThreads);
  __device__ static int row() {
    return static_cast<int>(threadIdx.x) / kStepRuns;
  }

  uint8_t *shared_, *raw_;
  const uint8_t* first_;
  const int row_bytes_, n_in_;
};

template <class Type, int kTokens>
constexpr size_t kSharedBytes = kTileAlignment + kStages* kTokensBytes<kTokens> + Blocks<Type>::kSharedBytes;

// Block (tile of tokens, tile of rows, part). Tiles of tokens that share weights run side by side.
template <class Type, int kTokens>
__global__ void __launch_bounds__(kThreads, 1)
    multiply_blocks(const __grid_constant__ Products p, const WideActivations x, const Parts parts,
                    const Split split, MatmulEnd matmul_end) {
  using Weights = Blocks<Type>;
  extern __shared__ uint8_t dynamic[];
  __shared__ Arrivals tokens_there[kStages];
  constexpr int kRawSteps = Weights::kRawSteps;
  let_next_start();
  start_arrivals(tokens_there);
  uint8_t* const shared = first_tile(dynamic);
  const Place place(p, parts, kTokens);
  const Weights weights(shared + kStages * kTokensBytes<kTokens>, p, place);
  const int begin = place.begin, end = place.end;
  const auto stage = [&](int step) { return shared + (step - begin) % kStages * kTokensBytes<kTokens>; };
  const auto bring_tokens = [&](int step) {
    if (threadIdx.x == 0 && step < end)
      copy_tokens<kTokens>(stage(step), tokens_there[(step - begin) % kStages], x, place.first_token, step);
  };
  const auto unpack = [&](int step) {
    if (step < end) weights.unpack(step);
  };

  static_assert(kAhead == 2);
  for (int i = 0; i < kAhead; ++i) {
    weights.copy_raw(begin / kRawSteps + i);
    end_copy_group();
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
    start_step(sums, weights.tile(step), stage(step));

    bring_tokens(step + kAhead);
    // The last step of a chunk of bytes has been unpacked; those of the next one are there or on their way.
    if ((step + 1) % kRawSteps == 0) weights.copy_raw((step + 1) / kRawSteps + 1);
    end_copy_group();
    constexpr bool kHasOtherTile = Weights::kTiles > 2;
    if constexpr (kHasOtherTile) unpack(step + 1);
    wait_for_products<1>();
    if constexpr (!kHasOtherTile) unpack(step + 1);
  }
  wait_for_products<0>();
  pin_sums(sums);
  static_assert(TileRoom<kTokens, kTileRows>::kBytes + kTileAlignment <= kSharedBytes<Type, kTokens>);
  end_tile<kTokens>(p, x, place, matmul_end, parts, split, sums, shared);
}

template <class Type, int kTokens>
void launch_blocks(Stream& stream, const Products& products, const WideActivations& x, const Parts& parts,
                   const Split& split, MatmulEnd end) {
  const int n_token_tiles = div_up(products.n_tokens, kTokens);
  launch(stream, multiply_blocks<Type, kTokens>,
         shape_of_tiles<kTokens>(products, parts, kThreads, kSharedBytes<Type, kTokens>), products, x, parts,
         split, end);
  launch_add_parts<OfTile<kTokens>>(stream, products, split, parts.n, n_token_tiles, end);
}

}  // namespace

size_t wide_blocks_shared(DType dtype, int tile_tokens) {
  size_t bytes = 0;
  visit_block_type(dtype, [&](auto type) {
    using Type = decltype(type);
    bytes = tile_tokens == kMostTileTokens ? kSharedBytes<Type, kMostTileTokens> : kSharedBytes<Type, 128>;
  });
  return bytes;
}

void wide_blocks(Stream& stream, DType dtype, int tile_tokens, const Products& products,
                 const WideActivations& x, const Parts& parts, const Split& split, MatmulEnd end) {
  visit_block_type(dtype, [&](auto type) {
    using Type = decltype(type);
    const auto run =
        tile_tokens == kMostTileTokens ? launch_blocks<Type, kMostTileTokens> : launch_blocks<Type, 128>;
    run(stream, products, x, parts, split, end);
  });
}

#endif

}  // namespace parlance::cuda
