// Few tokens times quantised weights: bound by the speed at which weights arrive. Each warp has a part of
// some rows along n_in, or the parts of a chunk, and keeps its own pieces of them on the way through shared
// memory, whatever the type's blocks look like; a lane then multiplies a run of each row with integer dot
// products. These are scaled and added up from the part's first run to its last, as gemm does: a lane each
// for a row, a token and a part takes them from shared memory.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/copy.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/run_terms.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

namespace {

constexpr int kRows = 4;  // of a block; they share the activations that a lane has loaded
constexpr int kStages = 2;

template <class Type>
constexpr int kChunkBytes = kChunkRuns / Type::kBlockRuns* Type::kBlockBytes;

template <class Type>
constexpr int kStageBytes = kRows* staged_bytes(kChunkBytes<Type>);

// Tokens whose terms wait in shared memory together.
template <class Type, int kTokens>
constexpr int kTokensAtOnce = kTokens* kTerms<Type> <= 8 ? kTokens : 8 / kTerms<Type>;

// Of a chunk: factors of each term of each run. Rows begin in different banks for loads of 16 bytes.
template <class Type, int kTokens>
struct ChunkTerms {
  static constexpr int kSums = kRows * kTokensAtOnce<Type, kTokens>;
  alignas(16) float2 factors[kTerms<Type>][kSums][kChunkRuns + 2];

  // Of n_runs runs, from `first` on.
  __device__ float add_to(float sum, int of, int first, int n_runs) const {
#pragma unroll 4
    for (int run = first; run < first + n_runs; run += 2) {
      float4 two[kTerms<Type>];
#pragma unroll
      for (int term = 0; term < kTerms<Type>; ++term)
        two[term] = *reinterpret_cast<const float4*>(&factors[term][of][run]);
#pragma unroll
      for (int term = 0; term < kTerms<Type>; ++term) sum = fmaf(two[term].x, two[term].y, sum);
#pragma unroll
      for (int term = 0; term < kTerms<Type>; ++term) sum = fmaf(two[term].z, two[term].w, sum);
    }
    return sum;
  }
};

template <class Type, int kTokens>
size_t warp_bytes(int n_stages) {
  return static_cast<size_t>(n_stages) * kStageBytes<Type> + sizeof(ChunkTerms<Type, kTokens>);
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

// How warps share the parts.
struct WarpParts {
  int n_warps;
  int chunks;  // of a warp
  int parts;   // of a chunk, or 1
};

WarpParts warp_parts(const Parts& parts, int n_chunks) {
  if (parts.units < kChunkUnits) return {n_chunks, 1, kChunkUnits / parts.units};
  return {parts.n, parts.units / kChunkUnits, 1};
}

// Block: 32 lanes by warps. Shared memory: the warps' stages and terms.
template <class Type, int kTokens>
__global__ void __launch_bounds__(32 * kMostParts, 2)
    multiply_rows(const __grid_constant__ Products p, const GemvActivations x, int n_parts,
                  const WarpParts of_warps, int n_stages) {
  extern __shared__ uint4 shared[];
  __shared__ float part_sums[kMostParts][kTokens * kRows];
  let_next_start();
  const int lane = threadIdx.x, warp = threadIdx.y;
  const Output& output = output_of_tile(p, blockIdx.x);
  const int first_row = (static_cast<int>(blockIdx.x) - output.first_tile) * kRows;
  constexpr int kAtOnce = kTokensAtOnce<Type, kTokens>;
  const int stages_bytes = n_stages * kStageBytes<Type>;
  auto* own = reinterpret_cast<uint8_t*>(shared) +
              warp * (stages_bytes + static_cast<int>(sizeof(ChunkTerms<Type, kTokens>)));
  auto& terms = *reinterpret_cast<ChunkTerms<Type, kTokens>*>(own + stages_bytes);
  RowChunks<Type> chunks;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    chunks.rows[r] = output.weight + min(first_row + r, output.n_out - 1) * output.row_bytes;
  }
  chunks.row_bytes = static_cast<int>(output.row_bytes);
  chunks.stages = own;
  chunks.lane = lane;

  const int begin = warp * of_warps.chunks, end = min(begin + of_warps.chunks, x.n_chunks);
#pragma unroll
  for (int stage = 0; stage < kStages; ++stage) {
    if (begin + stage < end) chunks.start(begin + stage, stage);
    end_copy_group();
  }
  wait_for_previous();

  // A lane has row and token `of` of those at once, and of the warp's parts one in so many.
  constexpr int kSums = kAtOnce * kRows, kPartLanes = 32 / kSums,
                kLaneParts = (kChunkUnits + kPartLanes - 1) / kPartLanes;
  const int of = lane % kSums, first_part = lane / kSums, part_runs = kChunkRuns / of_warps.parts;
  float sums[kTokens / kAtOnce][kLaneParts] = {};
  int stage = 0;
  for (int chunk = begin; chunk < end; ++chunk) {
    wait_for_copies<kStages - 1>();
    __syncwarp();
    const bool has_run = chunk * kChunkRuns + lane < p.n_in / kRunValues;
    Run w[kRows];
    if (has_run) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        Type::unpack(chunks.find(chunk, stage, r) + lane / Type::kBlockRuns * Type::kBlockBytes,
                     lane % Type::kBlockRuns, w[r]);
      }
    }
#pragma unroll
    for (int first = 0; first < kTokens; first += kAtOnce) {
#pragma unroll
      for (int t = 0; t < kAtOnce; ++t) {
        const int64_t row_chunk = static_cast<int64_t>(first + t) * x.n_chunks + chunk;
        const uint4* codes = x.codes + row_chunk * 2 * kChunkRuns + lane;
        const uint4 a = codes[0], b = codes[kChunkRuns];
        const uint32_t words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
        const RunScale scale = x.scales[row_chunk * kChunkRuns + lane];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          float2 of_run[kTerms<Type>] = {};
          if (has_run) multiply_run<Type>(w[r], words, scale, of_run);
#pragma unroll
          for (int term = 0; term < kTerms<Type>; ++term)
            terms.factors[term][t * kRows + r][lane] = of_run[term];
        }
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kLaneParts; ++i) {
        const int part = first_part + i * kPartLanes;
        float& sum = sums[first / kAtOnce][i];
        if (part < of_warps.parts) sum = terms.add_to(sum, of, part * part_runs, part_runs);
      }
      __syncwarp();
    }
    const int next = chunk + kStages;
    if (next < end) chunks.start(next, stage);
    end_copy_group();
    stage = (stage + 1) % kStages;
  }
#pragma unroll
  for (int first = 0; first < kTokens; first += kAtOnce) {
#pragma unroll
    for (int i = 0; i < kLaneParts; ++i) {
      const int of_warp = first_part + i * kPartLanes, part = warp * of_warps.parts + of_warp;
      if (of_warp < of_warps.parts && part < n_parts)
        part_sums[part][first * kRows + of] = sums[first / kAtOnce][i];
    }
  }
  __syncthreads();
  const int token = lane / kRows, row = first_row + lane % kRows;
  if (warp != 0 || lane >= kTokens * kRows || token >= p.n_tokens || row >= output.n_out) return;
  float total = 0;
  for (int part = 0; part < n_parts; ++part) total = add_part(total, part_sums[part][lane]);
  output.out[static_cast<int64_t>(token) * output.n_out + row] =
      total + (output.bias ? output.bias[row] : 0.0f);
}

template <class Type, int kTokens>
void launch_gemv(Stream& stream, const MatmulArgs& args, DType dtype, const GemvActivations& x) {
  const Products products = products_of(args, dtype, kRows);
  const Parts parts = quantised_parts(products.n_in);
  const WarpParts of_warps = warp_parts(parts, x.n_chunks);
  const int n_stages = std::min(of_warps.chunks, kStages);
  launch(stream, multiply_rows<Type, kTokens>,
         {.grid = dim3(static_cast<unsigned>(products.n_tiles)),
          .block = dim3(32, static_cast<unsigned>(of_warps.n_warps)),
          .shared_bytes = static_cast<size_t>(of_warps.n_warps) * warp_bytes<Type, kTokens>(n_stages)},
         products, x, parts.n, of_warps, n_stages);
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
