#include "kernels/cpu/matmul/floats.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/imported_weights.h"
#include "kernels/cpu/matmul/order_of_sums.h"
#include "kernels/cpu/matmul/scratch.h"
#include "kernels/cpu/matmul/tasks.h"

namespace parlance::matmul {

namespace {

constexpr int kMostRows = 32;                         // of a panel or tile
constexpr int64_t kStreamedBytes = int64_t{1} << 20;  // half of a second level cache

const FloatKernel& kernel_of(const FloatKernels& kernels, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return kernels.f32;
    case DType::f16:
      return kernels.f16;
    case DType::bf16:
      return kernels.bf16;
    default:
      return *kernels.quantised(dtype);
  }
}

int tile_tokens_of(const FloatKernels& kernels, const FloatKernel& kernel) {
  return kernel.tile_tokens > 0 ? kernel.tile_tokens : kernels.tile_tokens;
}

// Tokens that are whole tiles of every kernel that a product needs.
int64_t whole_tiles(const MatmulArgs& args, const FloatKernels& kernels) {
  int64_t n = 1;
  for (int i = 0; i < args.n_outputs; ++i)
    n = std::lcm(n, tile_tokens_of(kernels, kernel_of(kernels, args.w[i].weight.dtype)));
  return n;
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

// Activations in tiles [tile][step][token], of each kind that a weight needs.
struct Tiles {
  float* of_kind[kStepKinds] = {};
  float* operator[](StepKind kind) const { return of_kind[static_cast<size_t>(kind)]; }
};

Tiles take_tiles(ScratchPieces& memory, const MatmulArgs& args, const FloatKernels& kernels) {
  Tiles tiles;
  bool is_taken[kStepKinds] = {};
  for (int i = 0; i < args.n_outputs; ++i) {
    const FloatKernel& kernel = kernel_of(kernels, args.w[i].weight.dtype);
    const auto index = static_cast<size_t>(kernel.steps);
    if (std::exchange(is_taken[index], true)) continue;
    const int64_t n_tokens = align_up<int64_t>(args.x.n_rows(), tile_tokens_of(kernels, kernel));
    tiles.of_kind[index] = memory.take<float>(n_tokens * steps_of(args.x.ne[0], kernel.steps));
  }
  return tiles;
}

// Of a thread: a panel, and of rows that are longer than a segment what was summed up before.
struct PanelMemory {
  float* panel;
  float* totals;  // [token][panel_rows]
};

PanelMemory take_panel(ScratchPieces& memory, const MatmulArgs& args, const FloatKernels& kernels) {
  const int64_t n_tokens = align_up(args.x.n_rows(), whole_tiles(args, kernels));
  float* panel = memory.take<float>(kSegmentSteps * kernels.panel_rows);
  return {panel, memory.take<float>(n_tokens * kernels.panel_rows)};
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
  for (const FloatKernel* kernel : packing) {
    if (!kernel) continue;
    const int tile_tokens = tile_tokens_of(kernels, *kernel);
    pool.run(div_up<int64_t>(n_tokens, tile_tokens), [&](int64_t tile, int) {
      const int64_t first = tile * tile_tokens;
      const std::byte* rows[kMostRows];
      find_rows(args.x.row(first), args.x.row_size(), n_tokens - first, tile_tokens, rows);
      pack_stretches(*kernel, rows, tile_tokens, n_in,
                     tiles[kernel->steps] + first * steps_of(n_in, kernel->steps));
    });
  }
}

// The weights of a panel, values [first, first + n_values) of each of a task's rows.
void pack_panel(const FloatKernel& kernel, const FloatKernels& kernels, const Tensor& weight,
                const RowTask& task, int64_t first, int64_t n_values, float* panel) {
  const std::byte* rows[kMostRows];
  const std::byte* strips = kernel.pack_strip ? strips_of(weight) : nullptr;
  if (strips) {
    rows[0] = strips + static_cast<size_t>(task.first_row) * weight.row_size() +
              static_cast<size_t>(kStripRows) * row_bytes(weight.dtype, first);
    return kernel.pack_strip({rows, n_values, panel});
  }
  find_rows(weight.row(task.first_row) + row_bytes(weight.dtype, first), weight.row_size(), task.n_rows,
            kernels.panel_rows, rows);
  kernel.pack_weights({rows, n_values, panel});
}

// A panel of one output times tokens [first_token, end_token), whole tiles but for the last ones.
void multiply(const MatmulArgs& args, const FloatKernels& kernels, const Tiles& tiles, const RowTask& task,
              int64_t first_token, int64_t end_token, const PanelMemory& memory) {
  if (first_token >= end_token) return;  // there are more parts than tiles
  const Linear& linear = args.w[task.output];
  const FloatKernel& kernel = kernel_of(kernels, linear.weight.dtype);
  const int64_t n_out = linear.weight.n_rows(), n_in = args.x.ne[0];
  const int64_t n_steps = steps_of(n_in, kernel.steps);
  const int64_t at_once = values_at_once(kernel.steps);
  const int tile_tokens = tile_tokens_of(kernels, kernel);
  const float* bias = linear.bias ? linear.bias.as<float>() + task.first_row : nullptr;
  float* out = args.out[task.output].as<float>() + task.first_row;
  // Results that no cache keeps until they are read need not be fetched before they are written.
  const bool is_large = args.x.n_rows() * n_out * static_cast<int64_t>(sizeof(float)) > kStreamedBytes;
  if (kernel.begin_panels) kernel.begin_panels();
  for (int64_t value = 0, step = 0; value < n_in; value += at_once, step += steps_of(at_once, kernel.steps)) {
    const int64_t n_values = std::min(at_once, n_in - value);
    pack_panel(kernel, kernels, linear.weight, task, value, n_values, memory.panel);
    const bool begins = value == 0, ends = value + n_values == n_in;

    FloatPanelArgs part;
    part.panel = memory.panel;
    part.n_steps = steps_of(n_values, kernel.steps);
    part.n_rows = task.n_rows;
    part.tile_stride = n_steps * tile_tokens;
    part.start_stride = begins ? 0 : kernels.panel_rows;
    part.out_stride = ends ? n_out : kernels.panel_rows;
    part.streams_out = ends && is_large;
    for (int64_t token = first_token; token < end_token; token += kernel.tiles_at_once * tile_tokens) {
      part.x = tiles[kernel.steps] + token * n_steps + step * tile_tokens;
      part.n_tokens =
          static_cast<int>(std::min<int64_t>(kernel.tiles_at_once * tile_tokens, end_token - token));
      float* totals = memory.totals + (token - first_token) * kernels.panel_rows;
      part.out = ends ? out + token * n_out : totals;
      part.start = begins ? bias : totals;
      kernel.multiply_panel(part);
    }
  }
  if (kernel.end_panels) kernel.end_panels();
}

// So many tokens that the second level cache keeps their tiles while panel after panel comes by, where
// kernels are fast enough to wait for the caches behind it: whole tiles, `together` at least.
int64_t kept_tokens(const MatmulArgs& args, const FloatKernels& kernels, int64_t together) {
  int64_t tokens = align_up(args.x.n_rows(), together);
  for (int i = 0; i < args.n_outputs; ++i) {
    const FloatKernel& kernel = kernel_of(kernels, args.w[i].weight.dtype);
    if (kernel.tiles_at_once == 1) continue;
    const int64_t token_bytes = steps_of(args.x.ne[0], kernel.steps) * static_cast<int64_t>(sizeof(float));
    tokens = std::min(tokens, kStreamedBytes / token_bytes / together * together);
  }
  return std::max(tokens, together);
}

void run_gemm(ThreadPool& pool, const MatmulArgs& args, const FloatKernels& kernels, ScratchPieces memory) {
  const Tiles tiles = take_tiles(memory, args, kernels);
  pack_tiles(pool, args, kernels, tiles);

  const RowTasks panels = RowTasks::by_rows(args, kernels.panel_rows);
  const int64_t n_tokens = args.x.n_rows(), together = whole_tiles(args, kernels);
  const int64_t n_pieces = div_up(n_tokens, together);
  const int64_t wanted = std::max(token_parts(panels.size(), n_pieces, pool.n_threads()),
                                  div_up(n_tokens, kept_tokens(args, kernels, together)));
  const int64_t part_tokens = div_up(n_pieces, wanted) * together, n_panels = panels.size();
  ScratchPieces one_panel;
  take_panel(one_panel, args, kernels);
  // Part after part: a thread's panels, which follow each other, meet tokens that its cache has kept.
  pool.run(n_panels * div_up(n_tokens, part_tokens), [&](int64_t index, int thread) {
    const int64_t first = index / n_panels * part_tokens;
    ScratchPieces own{memory.base, memory.used + static_cast<size_t>(thread) * one_panel.used};
    multiply(args, kernels, tiles, panels[index % n_panels], first, std::min(n_tokens, first + part_tokens),
             take_panel(own, args, kernels));
  });
}

}  // namespace

void run_float_panels(Stream& stream, const MatmulArgs& args, const FloatKernels& kernels) {
  run_gemm(pool_of(stream), args, kernels, ScratchPieces{stream.scratch().data()});
}

size_t scratch_of_float_panels(const MatmulArgs& args, int n_threads, const FloatKernels& kernels) {
  ScratchPieces gemm;
  take_tiles(gemm, args, kernels);
  for (int thread = 0; thread < n_threads; ++thread) take_panel(gemm, args, kernels);
  return gemm.used;
}

void run_floats(Stream& stream, const MatmulArgs& args, const FloatKernels& kernels) {
  const int64_t n_tokens = args.x.n_rows();
  if (n_tokens > FloatKernels::kMostGemvTokens) {
    run_float_panels(stream, args, kernels);
  } else if (n_tokens > 0) {
    run_gemv(pool_of(stream), args, kernels, ScratchPieces{stream.scratch().data()});
  }
}

size_t scratch_of_floats(const MatmulArgs& args, int n_threads, const FloatKernels& kernels) {
  ScratchPieces gemv;
  take_rounded(gemv, args, kernels);
  return std::max(gemv.used, scratch_of_float_panels(args, n_threads, kernels));
}

}  // namespace parlance::matmul
