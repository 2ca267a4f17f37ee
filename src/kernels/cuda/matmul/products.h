// What the kernels of matmul are given, and the functions that launch them.
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <cstdint>

#include "kernels/fused_rows.h"

namespace parlance::cuda {

// One weight of a call with its result.
struct Output {
  const uint8_t* weight;
  const float* bias;  // null: none
  float* out;         // [n_out, n_tokens]
  int64_t row_bytes;
  int n_out;
  int first_tile;  // tiles of rows are numbered through all outputs of a launch
};

// Outputs of one type that are computed in one launch. Passed to kernels by value.
struct Products {
  Output outputs[MatmulArgs::kMaxOutputs];
  int n_outputs;
  int n_tiles;  // of rows, of all outputs
  int n_in;
  int n_tokens;
  // Half of a tile's rows are of the only output, the others the same rows of outputs[1], whose weight and
  // bias it meets: see MatmulEnd::gate.
  bool is_gated;
};

bool has_rows_of(const MatmulArgs& args, DType dtype);
// Whether it begins where 16 bytes can be loaded at once.
bool is_aligned(const Tensor& tensor);
// Whether every row does.
bool has_aligned_rows(const Tensor& weight);
bool has_aligned_rows(const MatmulArgs& args, DType dtype);  // of weights of this type

// The outputs of a call whose weights are of this type; `rows_per_tile` rows are a block's work.
Products products_of(const MatmulArgs& args, DType dtype, int rows_per_tile);
// The same, with what they end in.
Products products_of(const FusedMatmulArgs& args, DType dtype, int rows_per_tile);

#ifdef __CUDACC__
// The output that row tile `tile` belongs to.
__device__ inline const Output& output_of_tile(const Products& p, int tile) {
  int i = 0;
  while (i + 1 < p.n_outputs && tile >= p.outputs[i + 1].first_tile) ++i;
  return p.outputs[i];
}

// Where row `row` of a tile lies; behind the last row of an output, that one is meant.
__device__ inline const uint8_t* find_row(const Products& p, int tile, int rows_per_tile, int row) {
  const int n_own = p.is_gated ? rows_per_tile / 2 : rows_per_tile;
  const Output& first = output_of_tile(p, tile);
  const Output& output = row < n_own ? first : p.outputs[1];
  const int of_output = (tile - first.first_tile) * n_own + row % n_own;
  return output.weight + min(of_output, first.n_out - 1) * output.row_bytes;
}
#endif

// Before compute capability 9.0, above so many tokens quantised matrices are multiplied in tiles on the
// tensor cores.
inline constexpr int64_t kMostGemvTokens = 8;

// ---- One order of summation ----

// Up to so many tokens may be of many sequences: a product is then summed up in parts along n_in, each from
// its first value to its last, and the parts are added up in their order, then the bias. Only n_in says where
// they lie: a result is the same, bit for bit, however many tokens there are and however parts are shared
// out. More tokens are a piece of one prompt, and summed up as is fastest for so many, unless the device is
// deterministic. (f32 weights and float_tiles have one kernel each, with an order of its own.)
inline constexpr int64_t kMostAlikeTokens = 64;
inline constexpr int kMostParts = 8;

struct Parts {
  int n;
  int units;  // of a part, of so many values as parts_of() was given; the last part may have fewer
};

inline Parts parts_of(int n_in, int unit_values) {
  const int n_units = (n_in + unit_values - 1) / unit_values;
  const int units = (n_units + kMostParts - 1) / kMostParts;
  return {(n_units + units - 1) / units, units};
}

#ifdef __CUDACC__
// What the bias is added to: 0 and then each part.
__device__ inline float add_part(float so_far, float part) {
  return __fadd_rn(so_far, part);
}
#endif

// Sums of parts, at most: keeps the demand for scratch memory independent of the shape.
inline constexpr int64_t kMaxPartSums = int64_t{8} << 20;

// Whether these many tokens' sums have the order that one's have.
bool has_one_order(Stream& stream, int64_t n_tokens);

// Which parts a block of gemm computes, where there are too few tiles for all multiprocessors: see
// shared_tile.cuh.
struct Split {
  int n_blocks;  // for each tile
  int parts_per_block;
  float* sums;  // [tile_values, n_parts, tiles]; null: one block computes all parts
};

// Parts that are as many as blocks are worth having: for sums without an order. Units are so many values.
Parts parts_for_blocks(Stream& stream, const Products& products, int n_token_tiles, int unit_values,
                       size_t shared_bytes, int tile_values);

// As many blocks as run at once, when each takes `shared_bytes`, while `sums` has room for the parts.
Split split_parts(Stream& stream, int64_t n_tiles, const Parts& parts, size_t shared_bytes, int tile_values,
                  float* sums);

// ---- Activations for quantised weights: see kernels/cpu/matmul/activations.h for the rounding ----

// Rows are padded with zeros to whole chunks, tokens to what the kernels take at once.
inline constexpr int kChunkRuns = 32;
inline constexpr int kChunkValues = 1024;

// The parts of products with quantised weights, in units of so many values: some chunks, or a half or a
// quarter of one, where that makes no more than kMostParts.
inline constexpr int kQuantisedUnitValues = 256;
inline constexpr int kChunkUnits = kChunkValues / kQuantisedUnitValues;
inline Parts quantised_parts(int n_in) {
  for (int units = 1; units < kChunkUnits; units *= 2) {
    if (n_in <= kMostParts * units * kQuantisedUnitValues)
      return {(n_in + units * kQuantisedUnitValues - 1) / (units * kQuantisedUnitValues), units};
  }
  const Parts parts = parts_of(n_in, kChunkValues);
  return {parts.n, parts.units * kChunkUnits};
}

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
float* part_sums_of(Stream& stream, const Tensor& x);  // room for kMaxPartSums

void quantised_gemv(Stream& stream, const MatmulArgs& args, DType dtype, const GemvActivations& x);
void quantised_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const GemmActivations& x);

// ---- Activations for float weights ----

// For f16 and bf16 weights, x becomes a sum of two 16-bit floats like the weights, which keep 22 bits (f16)
// or 16 (bf16) of it. One would be faster, and its rounding would show in the logits of models without
// quantised weights.
inline constexpr int kHalves = 2;
inline constexpr int kHalfStepValues = 64;  // the unit of parts

// The halves add up to x / scale of its part. halves: [row_values, n_tokens, kHalves]; scales: [n_tokens,
// n_parts]. They begin the scratch memory, too, and are followed by the sums of parts.
struct HalfActivations {
  uint16_t* halves;
  float* scales;
  float* part_sums;
  int row_values;  // n_in, padded
  int n_tokens;    // padded

#ifdef __CUDACC__
  // Of an even token and the next one.
  __device__ float2 scales_of(int token, int part) const {
    return *reinterpret_cast<const float2*>(scales + static_cast<int64_t>(part) * n_tokens + token);
  }
#endif
};

int64_t padded_half_tokens(int64_t n_tokens);
size_t half_scratch_bytes(int64_t n_in, int64_t n_tokens);
HalfActivations halve(Stream& stream, const Tensor& x, DType dtype);

// Rows of weights start at multiples of 16 bytes. float_gemv and float_gemm are for f32, the others are for
// f16 and bf16; half_gemv takes a single token, which it rounds itself, and gates and adds up what comes of
// it; of some lengths, such as 1,024, it normalises it, too.
void float_gemv(Stream& stream, const MatmulArgs& args);
// Many tokens, whose sums have no order; off by 2^-21 of each product. With shorter rows than this there is
// little to compute, and float_tiles() is nearer.
inline constexpr int64_t kFewestGemmValues = 512;
void float_gemm(Stream& stream, const MatmulArgs& args);
bool half_gemv_serves(Stream& stream, const Tensor& x);
bool half_gemv_normalises(Stream& stream, const Tensor& x, const Tensor& norm);
void half_gemv(Stream& stream, const FusedMatmulArgs& args, DType dtype);
void half_gemm(Stream& stream, const MatmulArgs& args, DType dtype, const HalfActivations& x);
// Any shape and address, in f32.
void float_tiles(Stream& stream, const MatmulArgs& args, DType dtype);

}  // namespace parlance::cuda
