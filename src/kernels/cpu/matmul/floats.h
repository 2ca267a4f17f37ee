// matmul with f32, f16 and bf16 weights, for any instruction set: which memory it needs and how it is cut
// into tasks. Few tokens are multiplied row by row, straight from the weights (gemv). For more, panels of
// rows are widened into memory that stays in the cache and multiplied with tiles of tokens in registers
// (gemm). Quantised weights may be widened like that, too, where an instruction set multiplies floats much
// faster.
//
// Panels and tiles consist of steps of four bytes for each row or token; what these hold depends on what the
// instruction set multiplies fastest (StepKind). The kernels are fields of FloatKernels, one object for each
// instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/op_table.h"

namespace parlance::matmul {

// Rows of one weight times few tokens, sums in f32.
struct FloatGemvArgs {
  const std::byte* weight;  // n_rows rows of n_in values
  size_t row_bytes;
  int64_t n_rows;
  int64_t n_in;
  const float* x;  // token t at x + t * x_stride: f32, or what round_row() made of it
  int64_t x_stride;
  int n_tokens;
  const float* bias;  // [n_rows] or null
  float* out;         // token t, row r at [t * out_stride + r]
  int64_t out_stride;
};

// What the steps of a panel, and of the tiles that it is multiplied with, hold.
enum class StepKind : uint8_t {
  f32,           // a value, widened
  bf16_pairs,    // two values; those of activations are rounded
  int16_blocks,  // two integers that stand for values, or what a unit of them is: avx512/int16_blocks.h
  bf16_blocks,   // two values, in blocks that tiles multiply: amx/tiles.h
};
inline constexpr int kStepKinds = 4;

// So many values of a row become so many steps; what is left at the end of a row takes as many.
struct StepLayout {
  int64_t values_per_block;
  int64_t steps_per_block;
};
inline constexpr StepLayout kStepLayouts[kStepKinds] = {{1, 1}, {2, 1}, {64, 33}, {32, 16}};

// A stretch of columns of the rows of a panel or tile, no longer than a segment: steps[step][row], where
// steps of one value or pair each are chain by chain, see order_of_sums.h. Values past the end of a row count
// as zero.
struct FloatPackArgs {
  const std::byte* const* rows;  // of the first value of the stretch in each row; of a strip, one address
  int64_t n_values;
  float* steps;
};

struct FloatPanelArgs {
  const float* panel;  // [n_steps][panel_rows], whole blocks
  const float* x;      // [n_steps][tile_tokens]
  int64_t n_steps;
  int64_t tile_stride;  // from one tile to the next
  int n_tokens;         // 1..tile_tokens, or as many more as tiles_at_once allows
  int64_t n_rows;       // 1..panel_rows: those that exist
  const float* start;   // what sums start from: token t, row r at [t * start_stride + r]; null: 0
  int64_t start_stride;
  float* out;  // token t, row r at [t * out_stride + r]
  int64_t out_stride;
  bool streams_out = false;  // results are many: past the caches, where that can be
};

struct FloatKernel {
  void (*gemv)(const FloatGemvArgs& args);
  void (*round_row)(const float* x, int64_t n, float* steps);  // activations for gemv; null: as they are
  StepKind steps;
  void (*pack_weights)(const FloatPackArgs& args);  // panel_rows rows
  void (*pack_tokens)(const FloatPackArgs& args);   // tile_tokens rows of f32
  void (*multiply_panel)(const FloatPanelArgs& args);
  int tiles_at_once = 1;  // that multiply_panel takes at most
  // What a thread does before it multiplies panels, and when it has done; null: nothing.
  void (*begin_panels)() = nullptr;
  void (*end_panels)() = nullptr;
  int tile_tokens = 0;
  void (*pack_strip)(const FloatPackArgs& args) = nullptr;  // of a PackedWeight; null: rows are read
};

struct FloatKernels {
  static constexpr int kGemvTokens = 4;  // that gemv serves at once
  // Up to so many tokens, the rows of a task are worth reading again for every kGemvTokens of them: from the
  // cache, where widening them for gemm would cost more.
  static constexpr int kMostGemvTokens = 16;
  int panel_rows;
  int tile_tokens;  // of a kernel that says nothing else
  FloatKernel f32, f16, bf16;
  const FloatKernel* (*quantised)(DType) = nullptr;  // for more than kMostGemvTokens tokens
};

#if defined(__x86_64__)
extern const FloatKernels kFloatsAvx2;
extern const FloatKernels kFloatsAvx512;
extern const FloatKernels kFloatsAvx512Bf16;
extern const FloatKernels kFloatsAmx;
extern const FloatKernels kQuantisedAsFloatsAmx;
// f16 weights meet many tokens as they meet few, in f32, which takes twice as long.
extern const FloatKernels kDeterministicFloatsAvx512;
extern const FloatKernels kDeterministicFloatsAvx512Bf16;
extern const FloatKernels kDeterministicFloatsAmx;
#elif defined(__aarch64__)
extern const FloatKernels kFloatsNeon;
#endif

// A panel and its tiles at a time, for any number of tokens; run_floats() where these are many.
void run_float_panels(Stream& stream, const MatmulArgs& args, const FloatKernels& kernels);
void run_floats(Stream& stream, const MatmulArgs& args, const FloatKernels& kernels);
size_t scratch_of_float_panels(const MatmulArgs& args, int n_threads, const FloatKernels& kernels);
size_t scratch_of_floats(const MatmulArgs& args, int n_threads, const FloatKernels& kernels);

// The cell of an instruction set.
template <const FloatKernels& kernels>
Cell<MatmulArgs> float_cell() {
  return {[](Stream& stream, const MatmulArgs& args) { run_floats(stream, args, kernels); },
          [](const MatmulArgs& args, int n_threads) { return scratch_of_floats(args, n_threads, kernels); }};
}

}  // namespace parlance::matmul
