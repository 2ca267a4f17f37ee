// What the kernels of matmul are given, and the functions that launch them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/op_table.h"

namespace parlance::cuda {

// One weight of a call with its result.
struct Output {
  const uint8_t* weight;
  const float* bias;  // null: none
  float* out;         // [n_out, n_tokens]
  int64_t row_bytes;
  int64_t first_sum;  // where its partial sums begin, when the products of a call are split along n_in
  int n_out;
  int first_tile;  // tiles of rows are numbered through all outputs of a launch
};

// Outputs of one type that are computed in one launch. Passed to kernels by value.
struct Products {
  Output outputs[MatmulArgs::kMaxOutputs];
  int n_outputs;
  int n_tiles;     // of rows, of all outputs
  int64_t n_sums;  // elements of all outputs
  int n_in;
  int n_tokens;
};

// The outputs of a call whose weights are of this type; `rows_per_tile` rows are a block's work.
Products products_of(const MatmulArgs& args, DType dtype, int rows_per_tile);

#ifdef __CUDACC__
// The output that row tile `tile` belongs to.
__device__ inline const Output& output_of_tile(const Products& p, int tile) {
  int i = 0;
  while (i + 1 < p.n_outputs && tile >= p.outputs[i + 1].first_tile) ++i;
  return p.outputs[i];
}
#endif

// Above this many tokens matrices are multiplied in tiles on the tensor cores.
inline constexpr int64_t kMaxGemvTokens = 8;

// ---- Products split along n_in, where there are too few tiles for all multiprocessors ----

// Partial sums, at most: keeps the demand for scratch memory independent of the shape.
inline constexpr int64_t kMaxSplitSums = int64_t{2} << 20;

// How the steps of gemm along n_in are shared out among blocks that each compute a part of the same sums.
struct Split {
  int n_steps;  // in all
  int n_parts;
  int steps_per_part;
  float* sums;  // [n_parts, n_sums]; null: one part, results go to the outputs
};

// As many parts as run at once, when a block takes `shared_bytes`, while each has a few steps and `sums` room
// for all.
Split split_steps(Stream& stream, const Products& products, int n_token_tiles, int n_steps,
                  size_t shared_bytes, float* sums);

// out = sum of the parts + bias, if there are several.
void add_parts(Stream& stream, const Products& products, const Split& split);

// ---- Activations for quantised weights: see kernels/cpu/matmul/activations.h for the rounding ----

// Rows are padded with zeros to whole chunks, tokens to what the kernels take at once.
inline constexpr int kChunkRuns = 32;
inline constexpr int kChunkValues = 1024;

struct RunScale {
  float step;
  int32_t half_sums;  // of the codes: 16 bits each, the first half's below
};

// For gemv. codes: [n_tokens, n_chunks, 2, kChunkRuns] pieces of 16 bytes (first halves of all runs of a
// chunk, then second halves, so that a warp whose lanes take one run each reads whole lines); scales:
// [n_tokens, n_runs].
struct GemvActivations {
  uint4* codes;
  RunScale* scales;
  int n_chunks;
};

// For gemm. codes: [n_tokens, n_in]; steps: [n_runs, n_tokens]; sums: the same of (step * sum of the codes)
// of each half of a run.
struct GemmActivations {
  int8_t* codes;
  float* steps;
  float2* sums;
  int row_values;  // n_in, padded
  int n_tokens;    // padded
};

// Both lie at the start of the scratch memory, followed by the partial sums of gemm.
size_t quantised_scratch_bytes(int64_t n_in, int64_t n_tokens);

GemvActivations quantise_for_gemv(Stream& stream, const Tensor& x);
GemmActivations quantise_for_gemm(Stream& stream, const Tensor& x);
float* split_sums_of(Stream& stream, const Tensor& x);  // room for kMaxSplitSums

void quantised_gemv(Stream& stream, const MatmulArgs& args, DType dtype, const GemvActivations& x);
void quantised_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const GemmActivations& x);

// ---- Activations for float weights ----

// For f16 and bf16 gemm, x becomes a sum of 16-bit floats like the weights: two of them keep 22 bits (f16) or
// 16 (bf16). One would be faster, and its rounding would show in the logits of models without quantised
// weights.
inline constexpr int kF16Parts = 2;
inline constexpr int kBf16Parts = 2;

// The parts add up to x / scale. parts: [n_parts, n_tokens, n_in]; scales: [n_tokens]. They begin the scratch
// memory, too, and are followed by the partial sums.
struct HalfActivations {
  uint16_t* parts;
  float* scales;
  float* split_sums;
  int row_values;  // n_in, padded
  int n_tokens;    // padded
};

size_t half_scratch_bytes(int64_t n_in, int64_t n_tokens);
HalfActivations halve_for_gemm(Stream& stream, const Tensor& x, DType dtype);

// Rows of weights start at multiples of 16 bytes.
void float_gemv(Stream& stream, const MatmulArgs& args, DType dtype);
void half_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x);
// Any shape and address, in f32.
void float_tiles(Stream& stream, const MatmulArgs& args, DType dtype);

}  // namespace parlance::cuda
