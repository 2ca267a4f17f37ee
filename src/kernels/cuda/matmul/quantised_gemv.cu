// Few tokens times quantised weights: bound by the speed at which weights arrive. Each warp keeps its own
// pieces of rows on the way through shared memory, whatever the type's blocks look like; a lane then
// multiplies a run of each row with integer dot products. Rows are split among the warps of a block by chunks
// of 32 runs.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/copy.cuh"
#include "kernels/cuda/matmul/gemv_sums.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr int kRows = 4;  // of a block; they share the activations that a lane has loaded
constexpr int kMaxWarps = 4;
constexpr int kStages = 2;

template <class Type>
constexpr int kChunkBytes = kChunkRuns / Type::kBlockRuns* Type::kBlockBytes;

template <class Type>
constexpr int kStageBytes = kRows* staged_bytes(kChunkBytes<Type>);

// Each warp has as many stages as it takes chunks, up to kStages.
__host__ __device__ inline int stages_of_warp(int n_chunks, int n_warps) {
  const int n_rounds = (n_chunks + n_warps - 1) / n_warps;
  return n_rounds < kStages ? n_rounds : kStages;
}

// The rows of a block, and where a warp stages chunks of them.
template <class Type>
struct RowChunks {
  const uint8_t* rows[kRows];
  int row_bytes;
  uint8_t* stages;
  int lane;

  __device__ void start(int chunk, int stage) const {
    const int at = chunk * kChunkBytes<Type>;
    const int n = min(kChunkBytes<Type>, row_bytes - at);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      stage_bytes<kChunkBytes<Type>, 32>(
          stages + stage * kStageBytes<Type> + r * staged_bytes(kChunkBytes<Type>), rows[r] + at, n, lane);
    }
  }

  __device__ const uint8_t* find(int chunk, int stage, int r) const {
    return stages + stage * kStageBytes<Type> + r * staged_bytes(kChunkBytes<Type>) +
           bytes_past_piece(rows[r] + chunk * kChunkBytes<Type>);
  }
};

template <bool has_halves, bool has_minimum>
__device__ float product_of_run(const Run& w, const uint32_t (&x)[8], float step, int half_sums) {
  int sums[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    int& sum = sums[has_halves ? i / 4 : 0];
    sum = __dp4a(static_cast<int>(w.codes[i]), static_cast<int>(x[i]), sum);
  }
  float product = w.step[0] * static_cast<float>(sums[0]);
  if constexpr (has_halves) product += w.step[1] * static_cast<float>(sums[1]);
  if constexpr (has_minimum) {
    const int first = static_cast<int16_t>(half_sums), second = half_sums >> 16;
    if constexpr (has_halves) {
      product += w.minimum[0] * static_cast<float>(first) + w.minimum[1] * static_cast<float>(second);
    } else {
      product += w.minimum[0] * static_cast<float>(first + second);
    }
  }
  return step * product;
}

// Block: 32 lanes, n_warps warps. Shared memory: the warps' stages, then their sums.
template <class Type, int kTokens>
__global__ void __launch_bounds__(32 * kMaxWarps, 3)
    multiply_rows(const __grid_constant__ Products p, const GemvActivations x) {
  extern __shared__ uint4 shared[];
  let_next_start();
  const int lane = threadIdx.x, warp = threadIdx.y, n_warps = blockDim.y;
  const Output& output = output_of_tile(p, blockIdx.x);
  const int first_row = (static_cast<int>(blockIdx.x) - output.first_tile) * kRows;
  auto* stages = reinterpret_cast<uint8_t*>(shared);
  RowChunks<Type> chunks;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    chunks.rows[r] = output.weight + min(first_row + r, output.n_out - 1) * output.row_bytes;
  }
  chunks.row_bytes = static_cast<int>(output.row_bytes);
  const int warp_bytes = stages_of_warp(x.n_chunks, n_warps) * kStageBytes<Type>;
  chunks.stages = stages + warp * warp_bytes;
  chunks.lane = lane;

#pragma unroll
  for (int stage = 0; stage < kStages; ++stage) {
    if (warp + stage * n_warps < x.n_chunks) chunks.start(warp + stage * n_warps, stage);
    end_copy_group();
  }
  wait_for_previous();

  float sums[kTokens * kRows] = {};
  int stage = 0;
  for (int chunk = warp; chunk < x.n_chunks; chunk += n_warps) {
    wait_for_copies<kStages - 1>();
    __syncwarp();
    const int run = chunk * kChunkRuns + lane;
    if (run < p.n_in / kRunValues) {
      Run w[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        Type::unpack(chunks.find(chunk, stage, r) + lane / Type::kBlockRuns * Type::kBlockBytes,
                     lane % Type::kBlockRuns, w[r]);
      }
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        const int64_t row_chunk = static_cast<int64_t>(t) * x.n_chunks + chunk;
        const uint4* codes = x.codes + row_chunk * 2 * kChunkRuns + lane;
        const uint4 a = codes[0], b = codes[kChunkRuns];
        const uint32_t words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
        const RunScale scale = x.scales[row_chunk * kChunkRuns + lane];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          sums[t * kRows + r] +=
              product_of_run<Type::kHalves, Type::kHasMinimum>(w[r], words, scale.step, scale.half_sums);
        }
      }
    }
    __syncwarp();
    const int next = chunk + kStages * n_warps;
    if (next < x.n_chunks) chunks.start(next, stage);
    end_copy_group();
    stage = (stage + 1) % kStages;
  }
  store_sums<kRows, kTokens>(sums, reinterpret_cast<float*>(stages + n_warps * warp_bytes), output, first_row,
                             p.n_tokens);
}

template <class Type, int kTokens>
void launch_gemv(Stream& stream, const MatmulArgs& args, DType dtype, const GemvActivations& x) {
  const Products products = products_of(args, dtype, kRows);
  // As many chunks for each warp, and no warp without one.
  const int n_rounds = div_up(x.n_chunks, kMaxWarps);
  const int n_warps = div_up(x.n_chunks, n_rounds);
  const size_t warp_bytes = static_cast<size_t>(stages_of_warp(x.n_chunks, n_warps)) * kStageBytes<Type> +
                            sizeof(float) * kRows * kTokens;
  launch(stream, multiply_rows<Type, kTokens>,
         {.grid = dim3(static_cast<unsigned>(products.n_tiles)),
          .block = dim3(32, static_cast<unsigned>(n_warps)),
          .shared_bytes = static_cast<size_t>(n_warps) * warp_bytes},
         products, x);
}

}  // namespace

void quantised_gemv(Stream& stream, const MatmulArgs& args, DType dtype, const GemvActivations& x) {
  const int64_t n_tokens = args.x.n_rows();
  visit_block_type(dtype, [&](auto type) {
    using Type = decltype(type);
    const auto run = n_tokens == 1   ? launch_gemv<Type, 1>
                     : n_tokens == 2 ? launch_gemv<Type, 2>
                     : n_tokens <= 4 ? launch_gemv<Type, 4>
                                     : launch_gemv<Type, 8>;
    run(stream, args, dtype, x);
  });
}

}  // namespace parlance::cuda
