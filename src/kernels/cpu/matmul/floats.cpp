#include "kernels/cpu/matmul/floats.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/matmul/scratch.h"
#include "kernels/cpu/matmul/tasks.h"

namespace parlance::matmul {

namespace {

constexpr int64_t kChunkSteps = 1024;  // of a panel at once: it stays in the second level cache
constexpr int kMaxPanelRows = 32;

const FloatKernel& kernel_of(const FloatKernels& kernels, DType dtype) {
  return dtype == DType::f32 ? kernels.f32 : dtype == DType::f16 ? kernels.f16 : kernels.bf16;
}

void run_gemv(ThreadPool& pool, const MatmulArgs& args, const FloatKernels& kernels) {
  const RowTasks tasks = RowTasks::by_bytes(args);
  pool.run(tasks.size(), [&](int64_t index, int) {
    const RowTask task = tasks[index];
    const Linear& linear = args.w[task.output];
    FloatGemvArgs gemv;
    gemv.weight = linear.weight.row(task.first_row);
    gemv.row_bytes = linear.weight.row_size();
    gemv.n_rows = task.n_rows;
    gemv.n_in = args.x.ne[0];
    gemv.bias = linear.bias ? linear.bias.as<float>() + task.first_row : nullptr;
    gemv.out_stride = linear.weight.n_rows();
    const int64_t n_tokens = args.x.n_rows();
    for (int64_t token = 0; token < n_tokens; token += FloatKernels::kGemvTokens) {
      gemv.x = args.x.as<float>() + token * gemv.n_in;
      gemv.n_tokens = static_cast<int>(std::min<int64_t>(FloatKernels::kGemvTokens, n_tokens - token));
      gemv.out = args.out[task.output].as<float>() + task.first_row + token * gemv.out_stride;
      kernel_of(kernels, linear.weight.dtype).gemv(gemv);
    }
  });
}

// Activations in tiles [tile][step][tile_tokens], as f32 and as pairs of bf16; each only if a weight needs
// it.
struct Tiles {
  float* f32 = nullptr;
  float* pairs = nullptr;
};

int64_t steps_of(int64_t n_values, bool pairs) {
  return pairs ? div_up<int64_t>(n_values, 2) : n_values;
}

Tiles take_tiles(ScratchPieces& memory, const MatmulArgs& args, const FloatKernels& kernels) {
  const int64_t n_tiles = div_up<int64_t>(args.x.n_rows(), kernels.tile_tokens);
  bool need_f32 = false, need_pairs = false;
  for (int i = 0; i < args.n_outputs; ++i) {
    (kernel_of(kernels, args.w[i].weight.dtype).pairs ? need_pairs : need_f32) = true;
  }
  Tiles tiles;
  if (need_f32) tiles.f32 = memory.take<float>(n_tiles * kernels.tile_tokens * steps_of(args.x.ne[0], false));
  if (need_pairs)
    tiles.pairs = memory.take<float>(n_tiles * kernels.tile_tokens * steps_of(args.x.ne[0], true));
  return tiles;
}

float* take_panel(ScratchPieces& memory, const FloatKernels& kernels) {
  return memory.take<float>(kChunkSteps * kernels.panel_rows);
}

// One row of x into column `column` of a tile; missing tokens of the last tile are left out.
void pack_f32(const float* x, int64_t n, float* column, int64_t stride) {
  for (int64_t i = 0; i < n; ++i) column[i * stride] = x[i];
}

void pack_pairs(const FloatKernels& kernels, const float* x, int64_t n, float* column, int64_t stride) {
  constexpr int64_t kPiece = 256;
  for (int64_t first = 0; first < n; first += kPiece) {
    uint16_t rounded[kPiece + 1];
    const int64_t piece = std::min(kPiece, n - first);
    kernels.round_to_bf16(x + first, piece, rounded);
    rounded[piece] = 0;  // partner of an odd last value
    for (int64_t i = 0; i < piece; i += 2)
      std::memcpy(column + (first + i) / 2 * stride, rounded + i, sizeof(float));
  }
}

void pack_tiles(ThreadPool& pool, const MatmulArgs& args, const FloatKernels& kernels, const Tiles& tiles) {
  const int64_t n_in = args.x.ne[0], n_tokens = args.x.n_rows(), stride = kernels.tile_tokens;
  pool.run(div_up(n_tokens, stride), [&](int64_t tile, int) {
    const int64_t first = tile * stride;
    for (int64_t t = first; t < std::min(first + stride, n_tokens); ++t) {
      const float* x = args.x.as<float>() + t * n_in;
      if (tiles.f32) pack_f32(x, n_in, tiles.f32 + tile * n_in * stride + (t - first), stride);
      if (tiles.pairs) {
        pack_pairs(kernels, x, n_in, tiles.pairs + tile * steps_of(n_in, true) * stride + (t - first),
                   stride);
      }
    }
  });
}

// A panel of one output times tiles [first_tile, end_tile).
void multiply(const MatmulArgs& args, const FloatKernels& kernels, const Tiles& tiles, const RowTask& task,
              int64_t first_tile, int64_t end_tile, float* panel) {
  const Linear& linear = args.w[task.output];
  const FloatKernel& kernel = kernel_of(kernels, linear.weight.dtype);
  const int64_t n_out = linear.weight.n_rows(), n_in = args.x.ne[0];
  const int64_t n_steps = steps_of(n_in, kernel.pairs), values_per_step = kernel.pairs ? 2 : 1;
  const float* x = kernel.pairs ? tiles.pairs : tiles.f32;
  const float* bias = linear.bias ? linear.bias.as<float>() + task.first_row : nullptr;
  float* out = args.out[task.output].as<float>() + task.first_row;
  for (int64_t step = 0; step < n_steps; step += kChunkSteps) {
    FloatPanelArgs part;
    part.panel = panel;
    part.n_steps = std::min(kChunkSteps, n_steps - step);
    part.n_rows = task.n_rows;
    part.out_stride = n_out;

    const std::byte* rows[kMaxPanelRows];
    for (int r = 0; r < kernels.panel_rows; ++r) {  // a ragged panel repeats its last row
      rows[r] = linear.weight.row(task.first_row + std::min<int64_t>(r, task.n_rows - 1)) +
                row_bytes(linear.weight.dtype, step * values_per_step);
    }
    kernel.unpack({rows, std::min(part.n_steps * values_per_step, n_in - step * values_per_step), panel});

    for (int64_t tile = first_tile; tile < end_tile; ++tile) {
      const int64_t token = tile * kernels.tile_tokens;
      part.x = x + (tile * n_steps + step) * kernels.tile_tokens;
      part.n_tokens = static_cast<int>(std::min<int64_t>(kernels.tile_tokens, args.x.n_rows() - token));
      part.out = out + token * n_out;
      part.start = step == 0 ? bias : part.out;
      part.start_stride = step == 0 ? 0 : n_out;
      kernel.multiply_panel(part);
    }
  }
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
             panel_memory + thread * kChunkSteps * kernels.panel_rows);
  });
}

}  // namespace

void run_floats(Stream& stream, const MatmulArgs& args, const FloatKernels& kernels) {
  const int64_t n_tokens = args.x.n_rows();
  if (n_tokens > FloatKernels::kMostGemvTokens) {
    run_gemm(pool_of(stream), args, kernels, ScratchPieces{stream.scratch().data()});
  } else if (n_tokens > 0) {
    run_gemv(pool_of(stream), args, kernels);
  }
}

size_t scratch_of_floats(const MatmulArgs& args, int n_threads, const FloatKernels& kernels) {
  ScratchPieces memory;
  take_tiles(memory, args, kernels);
  for (int thread = 0; thread < n_threads; ++thread) take_panel(memory, kernels);
  return memory.used;
}

}  // namespace parlance::matmul
