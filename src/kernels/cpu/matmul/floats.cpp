#include "kernels/cpu/matmul/floats.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/matmul/order_of_sums.h"
#include "kernels/cpu/matmul/scratch.h"
#include "kernels/cpu/matmul/tasks.h"

namespace parlance::matmul {

namespace {

constexpr int kMostRows = 32;  // of a panel or tile

const FloatKernel& kernel_of(const FloatKernels& kernels, DType dtype) {
  return dtype == DType::f32 ? kernels.f32 : dtype == DType::f16 ? kernels.f16 : kernels.bf16;
}

const StepLayout& layout_of(StepKind kind) {
  return kStepLayouts[static_cast<size_t>(kind)];
}

int64_t steps_of(int64_t n_values, StepKind kind) {
  return div_up(n_values, layout_of(kind).values_per_block) * layout_of(kind).steps_per_block;
}

// Rounded activations of few tokens, where a weight wants them.
struct RoundedRows {
  float* rows = nullptr;  // token t at [t * stride]; null: none are wanted
  int64_t stride = 0;
};

RoundedRows take_rounded(ScratchPieces& memory, const MatmulArgs& args, const FloatKernels& kernels) {
  RoundedRows rounded;
  for (int i = 0; i < args.n_outputs; ++i) {
    const FloatKernel& kernel = kernel_of(kernels, args.w[i].weight.dtype);
    if (kernel.round_row) rounded.stride = steps_of(args.x.ne[0], kernel.steps);
  }
  if (rounded.stride > 0) rounded.rows = memory.take<float>(FloatKernels::kMostGemvTokens * rounded.stride);
  return rounded;
}

void round_rows(ThreadPool& pool, const MatmulArgs& args, const FloatKernels& kernels,
                const RoundedRows& rounded) {
  if (!rounded.rows) return;
  const FloatKernel* rounding = nullptr;
  for (int i = 0; i < args.n_outputs; ++i) {
    const FloatKernel& kernel = kernel_of(kernels, args.w[i].weight.dtype);
    if (kernel.round_row) rounding = &kernel;
  }
  pool.run(args.x.n_rows(), [&](int64_t token, int) {
    rounding->round_row(args.x.as<float>() + token * args.x.ne[0], args.x.ne[0],
                        rounded.rows + token * rounded.stride);
  });
}

void run_gemv(ThreadPool& pool, const MatmulArgs& args, const FloatKernels& kernels, ScratchPieces memory) {
  const RoundedRows rounded = take_rounded(memory, args, kernels);
  round_rows(pool, args, kernels, rounded);
  const RowTasks tasks = RowTasks::by_bytes(args);
  pool.run(tasks.size(), [&](int64_t index, int) {
    const RowTask task = tasks[index];
    const Linear& linear = args.w[task.output];
    const FloatKernel& kernel = kernel_of(kernels, linear.weight.dtype);
    FloatGemvArgs gemv;
    gemv.weight = linear.weight.row(task.first_row);
    gemv.row_bytes = linear.weight.row_size();
    gemv.n_rows = task.n_rows;
    gemv.n_in = args.x.ne[0];
    gemv.x_stride = kernel.round_row ? rounded.stride : gemv.n_in;
    gemv.bias = linear.bias ? linear.bias.as<float>() + task.first_row : nullptr;
    gemv.out_stride = linear.weight.n_rows();
    const float* x = kernel.round_row ? rounded.rows : args.x.as<float>();
    const int64_t n_tokens = args.x.n_rows();
    for (int64_t token = 0; token < n_tokens; token += FloatKernels::kGemvTokens) {
      gemv.x = x + token * gemv.x_stride;
      gemv.n_tokens = static_cast<int>(std::min<int64_t>(FloatKernels::kGemvTokens, n_tokens - token));
      gemv.out = args.out[task.output].as<float>() + task.first_row + token * gemv.out_stride;
      kernel.gemv(gemv);
    }
  });
}

// Activations in tiles [tile][step][tile_tokens], of each kind that a weight needs.
struct Tiles {
  float* of_kind[kStepKinds] = {};
  float* operator[](StepKind kind) const { return of_kind[static_cast<size_t>(kind)]; }
};

Tiles take_tiles(ScratchPieces& memory, const MatmulArgs& args, const FloatKernels& kernels) {
  const int64_t n_tiles = div_up<int64_t>(args.x.n_rows(), kernels.tile_tokens);
  Tiles tiles;
  bool is_taken[kStepKinds] = {};
  for (int i = 0; i < args.n_outputs; ++i) {
    const StepKind kind = kernel_of(kernels, args.w[i].weight.dtype).steps;
    const auto index = static_cast<size_t>(kind);
    if (std::exchange(is_taken[index], true)) continue;
    tiles.of_kind[index] = memory.take<float>(n_tiles * kernels.tile_tokens * steps_of(args.x.ne[0], kind));
  }
  return tiles;
}

float* take_panel(ScratchPieces& memory, const FloatKernels& kernels) {
  return memory.take<float>(kSegmentSteps * kernels.panel_rows);
}

// Where `count` rows begin, one every row_bytes; those past n_rows repeat the last one.
void find_rows(const std::byte* first, size_t row_bytes, int64_t n_rows, int count, const std::byte** rows) {
  for (int r = 0; r < count; ++r) {
    rows[r] = first + static_cast<size_t>(std::min<int64_t>(r, n_rows - 1)) * row_bytes;
  }
}

// Values of a row whose steps are packed at once.
int64_t values_at_once(StepKind kind) {
  return kSegmentSteps / layout_of(kind).steps_per_block * layout_of(kind).values_per_block;
}

// A tile's rows of f32, in the stretches that panels are multiplied in.
void pack_stretches(const FloatKernel& kernel, const std::byte** rows, int n_rows, int64_t n_in,
                    float* steps) {
  const int64_t at_once = values_at_once(kernel.steps);
  for (int64_t value = 0; value < n_in; value += at_once) {
    kernel.pack_tokens({rows, std::min(at_once, n_in - value), steps});
    for (int r = 0; r < n_rows; ++r) rows[r] += at_once * static_cast<int64_t>(sizeof(float));
    steps += steps_of(at_once, kernel.steps) * n_rows;
  }
}

// Every kind of tiles, by the kernel of a weight that needs it.
void pack_tiles(ThreadPool& pool, const MatmulArgs& args, const FloatKernels& kernels, const Tiles& tiles) {
  const int64_t n_in = args.x.ne[0], n_tokens = args.x.n_rows();
  const FloatKernel* packing[kStepKinds] = {};
  for (int i = 0; i < args.n_outputs; ++i) {
    const FloatKernel& kernel = kernel_of(kernels, args.w[i].weight.dtype);
    packing[static_cast<size_t>(kernel.steps)] = &kernel;
  }
  pool.run(div_up<int64_t>(n_tokens, kernels.tile_tokens), [&](int64_t tile, int) {
    const int64_t first = tile * kernels.tile_tokens;
    for (const FloatKernel* kernel : packing) {
      if (!kernel) continue;
      const std::byte* rows[kMostRows];
      find_rows(args.x.row(first), args.x.row_size(), n_tokens - first, kernels.tile_tokens, rows);
      pack_stretches(*kernel, rows, kernels.tile_tokens, n_in,
                     tiles[kernel->steps] + first * steps_of(n_in, kernel->steps));
    }
  });
}

// A panel of one output times tiles [first_tile, end_tile).
void multiply(const MatmulArgs& args, const FloatKernels& kernels, const Tiles& tiles, const RowTask& task,
              int64_t first_tile, int64_t end_tile, float* panel) {
  const Linear& linear = args.w[task.output];
  const FloatKernel& kernel = kernel_of(kernels, linear.weight.dtype);
  const int64_t n_out = linear.weight.n_rows(), n_in = args.x.ne[0];
  const int64_t n_steps = steps_of(n_in, kernel.steps);
  const int64_t at_once = values_at_once(kernel.steps);
  const float* bias = linear.bias ? linear.bias.as<float>() + task.first_row : nullptr;
  float* out = args.out[task.output].as<float>() + task.first_row;
  if (kernel.begin_panels) kernel.begin_panels();
  for (int64_t value = 0, step = 0; value < n_in; value += at_once, step += steps_of(at_once, kernel.steps)) {
    const int64_t n_values = std::min(at_once, n_in - value);
    const std::byte* rows[kMostRows];
    find_rows(linear.weight.row(task.first_row) + row_bytes(linear.weight.dtype, value),
              linear.weight.row_size(), task.n_rows, kernels.panel_rows, rows);
    kernel.pack_weights({rows, n_values, panel});

    FloatPanelArgs part;
    part.panel = panel;
    part.n_steps = steps_of(n_values, kernel.steps);
    part.n_rows = task.n_rows;
    part.tile_stride = n_steps * kernels.tile_tokens;
    part.out_stride = n_out;
    for (int64_t tile = first_tile; tile < end_tile; tile += kernel.tiles_at_once) {
      const int64_t token = tile * kernels.tile_tokens;
      part.x = tiles[kernel.steps] + (tile * n_steps + step) * kernels.tile_tokens;
      const int64_t last_token =
          std::min(std::min(tile + kernel.tiles_at_once, end_tile) * kernels.tile_tokens, args.x.n_rows());
      part.n_tokens = static_cast<int>(last_token - token);
      part.out = out + token * n_out;
      part.start = value == 0 ? bias : part.out;
      part.start_stride = value == 0 ? 0 : n_out;
      kernel.multiply_panel(part);
    }
  }
  if (kernel.end_panels) kernel.end_panels();
}

void run_gemm(ThreadPool& pool, const MatmulArgs& args, const FloatKernels& kernels, ScratchPieces memory) {
  const Tiles tiles = take_tiles(memory, args, kernels);
  pack_tiles(pool, args, kernels, tiles);

  const RowTasks panels = RowTasks::by_rows(args, kernels.panel_rows);
  const int64_t n_tiles = div_up<int64_t>(args.x.n_rows(), kernels.tile_tokens);
  const int64_t parts = token_parts(panels.size(), n_tiles, pool.n_threads());
  const int64_t tiles_per_part = div_up(n_tiles, parts);
  float* panel_memory = take_panel(memory, kernels);
  pool.run(panels.size() * parts, [&](int64_t index, int thread) {
    const int64_t first_tile = index % parts * tiles_per_part;
    multiply(args, kernels, tiles, panels[index / parts], first_tile,
             std::min(n_tiles, first_tile + tiles_per_part),
             panel_memory + thread * kSegmentSteps * kernels.panel_rows);
  });
}

}  // namespace

void run_floats(Stream& stream, const MatmulArgs& args, const FloatKernels& kernels) {
  const int64_t n_tokens = args.x.n_rows();
  if (n_tokens > FloatKernels::kMostGemvTokens) {
    run_gemm(pool_of(stream), args, kernels, ScratchPieces{stream.scratch().data()});
  } else if (n_tokens > 0) {
    run_gemv(pool_of(stream), args, kernels, ScratchPieces{stream.scratch().data()});
  }
}

size_t scratch_of_floats(const MatmulArgs& args, int n_threads, const FloatKernels& kernels) {
  ScratchPieces gemv, gemm;
  take_rounded(gemv, args, kernels);
  take_tiles(gemm, args, kernels);
  for (int thread = 0; thread < n_threads; ++thread) take_panel(gemm, kernels);
  return std::max(gemv.used, gemm.used);
}

}  // namespace parlance::matmul
