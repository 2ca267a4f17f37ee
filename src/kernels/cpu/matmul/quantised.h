// matmul with quantised weights, for any instruction set: which memory it needs and how it is cut into tasks.
// Few tokens are multiplied row by row, straight from the blocks (gemv). For more, panels of rows are
// unpacked into memory that stays in the cache and multiplied with tiles of tokens in registers (gemm).
//
// What differs between instruction sets is the template parameter `Set`, a struct with
//
//   kGemvTokens               gemv serves up to so many tokens
//   kReadsPacked              whether kernels read strips of packed weights, where there are such
//   kPanelRows, kTileTokens   outputs that a tile of gemm holds
//   kCodeFlip                 codes of activations for gemm are stored xor this (0: signed; -128: plus 128)
//   quantise_row(x, n_runs, row)   runs of 32 values, into RowCodes
//   kernel(dtype)             QuantisedKernel: what is particular to a type of weights
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/imported_weights.h"
#include "kernels/cpu/matmul/activations.h"
#include "kernels/cpu/matmul/order_of_sums.h"
#include "kernels/cpu/matmul/scratch.h"
#include "kernels/cpu/matmul/tasks.h"
#include "kernels/op_table.h"

namespace parlance::matmul {

// Rows of one weight times few tokens.
struct GemvArgs {
  const std::byte* weight;  // n_rows rows of n_in values
  size_t row_bytes;
  int64_t n_rows;
  int64_t n_in;
  const RowActivations* x;  // [n_tokens]
  int n_tokens;
  const float* bias;  // [n_rows] or null
  float* out;         // token t, row r at [t * out_stride + r]
  int64_t out_stride;
};

// kPanelRows rows of weights, unpacked: value = step * code + offset. The rows lie side by side in each
// array.
struct Panel {
  int8_t* codes;   // [run][piece of 4 values][row][4]
  float* steps;    // [run or half run][row]
  float* offsets;  // [run or half run][row], where the format has them
  int32_t* start;  // [run or half run][row]: what integer sums start from, where the set wants it
};

// A stretch of columns of kPanelRows rows to unpack.
struct UnpackArgs {
  const std::byte* const* rows;  // [kPanelRows]: address of the first block of the stretch in each row
  int64_t n_runs;
  Panel panel;
};

struct PanelArgs {
  Panel panel;
  int64_t n_runs;
  const std::byte* x;  // RunActivations<kTileTokens>[n_runs]
  int n_tokens;        // 1..kTileTokens
  int64_t n_rows;      // 1..kPanelRows: those that exist
  const float* start;  // what sums start from: token t, row r at [t * start_stride + r]; null: 0
  int64_t start_stride;
  float* out;  // token t, row r at [t * out_stride + r]
  int64_t out_stride;
  // What is unpacked next: memory to ask for meanwhile, so many bytes for each run; 0: nothing. Rows that are
  // unpacked side by side are too many short streams for the processor's own prefetching.
  const std::byte* ahead;
  int64_t ahead_bytes;
  const std::byte* strip;  // that the panel was unpacked from; null: from rows
};

// What is particular to a type of weights.
struct QuantisedKernel {
  void (*gemv)(const GemvArgs& args);
  void (*unpack)(const UnpackArgs& args);
  void (*multiply_panel)(const PanelArgs& args);
  Order order;  // of the activations for gemv
  // The same for strips of a PackedWeight, which have the rows' place and length; null: not in strips.
  // Activations are in natural order, and of the rows to unpack there is the first.
  void (*gemv_strips)(const GemvArgs& args) = nullptr;
  void (*unpack_strip)(const UnpackArgs& args) = nullptr;
  // Panels whose codes are read from the strip that they would be unpacked from; null: from the panel.
  void (*multiply_strip)(const PanelArgs& args) = nullptr;
  // What a thread does before it multiplies panels, and when it has done; null: nothing.
  void (*begin_panels)() = nullptr;
  void (*end_panels)() = nullptr;
};

template <class Set>
class QuantisedMatmul {
 public:
  static Cell<MatmulArgs> cell() { return {run, scratch_bytes}; }

 private:
  using TileRun = RunActivations<Set::kTileTokens>;

  // Where the rows of each output are read: strips where there are such, null where the weight itself is
  // read.
  using Strips = std::array<const std::byte*, MatmulArgs::kMaxOutputs>;
  static Strips strips_of(const MatmulArgs& args) {
    Strips strips{};
    if constexpr (Set::kReadsPacked) {
      for (int i = 0; i < args.n_outputs; ++i) strips[i] = parlance::strips_of(args.w[i].weight);
    }
    return strips;
  }

  static void run(Stream& stream, const MatmulArgs& args) {
    const int64_t n_tokens = args.x.n_rows();
    ScratchPieces memory{stream.scratch().data()};
    if (n_tokens > Set::kGemvTokens) {
      run_gemm(pool_of(stream), args, memory);
    } else if (n_tokens > 0) {
      run_gemv(pool_of(stream), args, memory);
    }
  }

  // Not less for more tokens, since memory is reserved for the largest batch.
  static size_t scratch_bytes(const MatmulArgs& args, int n_threads) {
    const int64_t n_in = args.x.ne[0];
    ScratchPieces gemv, gemm;
    for (int t = 0; t < Set::kGemvTokens; ++t) {
      RowMemory row;
      row.take(gemv, n_in, orders_needed(args, {}));
    }
    take_tiles(gemm, n_in, args.x.n_rows());
    for (int thread = 0; thread < n_threads; ++thread) take_panel(gemm);
    return std::max(gemv.used, gemm.used);
  }

  // gemv

  static std::array<bool, kOrderCount> orders_needed(const MatmulArgs& args, const Strips& strips) {
    std::array<bool, kOrderCount> needed{};
    for (int i = 0; i < args.n_outputs; ++i) {
      if (!strips[i]) needed[static_cast<size_t>(Set::kernel(args.w[i].weight.dtype).order)] = true;
    }
    return needed;
  }

  struct RowMemory {
    std::array<int8_t*, kOrderCount> codes{};
    RowCodes natural;

    void take(ScratchPieces& memory, int64_t n_in, const std::array<bool, kOrderCount>& orders) {
      const int64_t padded = align_up(n_in, kRowPadding), n_runs = padded / kRun;
      natural.codes = memory.take<int8_t>(padded);
      codes[static_cast<size_t>(Order::natural)] = natural.codes;
      for (size_t order = 1; order < kOrderCount; ++order) {
        if (orders[order]) codes[order] = memory.take<int8_t>(padded);
      }
      natural.steps = memory.take<float>(n_runs);
      natural.sums = memory.take<float>(n_runs);
      natural.half_sums = memory.take<float>(2 * n_runs);
      natural.minus_codes = memory.take<int32_t>(n_runs);
      natural.half_minus_codes = memory.take<int32_t>(2 * n_runs);
    }
  };

  static RowActivations prepare_row(const RowMemory& row, const float* x, int64_t n_in) {
    const int64_t padded = align_up(n_in, kRowPadding);
    Set::quantise_row(x, n_in / kRun, row.natural);
    const RunCodes zeros{};
    for (int64_t run = n_in / kRun; run < padded / kRun; ++run) row.natural.put(run, zeros);

    RowActivations activations{.codes = {},
                               .steps = row.natural.steps,
                               .sums = row.natural.sums,
                               .half_sums = row.natural.half_sums,
                               .minus_codes = row.natural.minus_codes,
                               .half_minus_codes = row.natural.half_minus_codes};
    for (size_t order = 0; order < kOrderCount; ++order) {
      if (!row.codes[order]) continue;
      if (order != 0) reorder(static_cast<Order>(order), row.natural.codes, row.codes[order], padded);
      activations.codes[order] = row.codes[order];
    }
    return activations;
  }

  static void run_gemv(ThreadPool& pool, const MatmulArgs& args, ScratchPieces memory) {
    const int64_t n_in = args.x.ne[0];
    const int n_tokens = static_cast<int>(args.x.n_rows());
    const Strips strips = strips_of(args);
    const std::array<bool, kOrderCount> orders = orders_needed(args, strips);
    std::array<RowMemory, Set::kGemvTokens> rows;
    for (int t = 0; t < n_tokens; ++t) rows[t].take(memory, n_in, orders);
    std::array<RowActivations, Set::kGemvTokens> x;
    pool.run(n_tokens,
             [&](int64_t t, int) { x[t] = prepare_row(rows[t], args.x.as<float>() + t * n_in, n_in); });

    const RowTasks tasks = RowTasks::by_bytes(args);
    pool.run(tasks.size(), [&](int64_t index, int) {
      const RowTask task = tasks[index];
      const Linear& linear = args.w[task.output];
      GemvArgs gemv;
      const std::byte* own_strips = strips[task.output];
      gemv.weight = own_strips ? own_strips + static_cast<size_t>(task.first_row) * linear.weight.row_size()
                               : linear.weight.row(task.first_row);
      gemv.row_bytes = linear.weight.row_size();
      gemv.n_rows = task.n_rows;
      gemv.n_in = n_in;
      gemv.x = x.data();
      gemv.n_tokens = n_tokens;
      gemv.bias = linear.bias ? linear.bias.template as<float>() + task.first_row : nullptr;
      gemv.out = args.out[task.output].template as<float>() + task.first_row;
      gemv.out_stride = linear.weight.n_rows();
      const QuantisedKernel kernel = Set::kernel(linear.weight.dtype);
      (own_strips ? kernel.gemv_strips : kernel.gemv)(gemv);
    });
  }

  // gemm

  static constexpr int64_t kPackedRuns = 16;  // that quantise_row() likes to be given

  static TileRun* take_tiles(ScratchPieces& memory, int64_t n_in, int64_t n_tokens) {
    return memory.take<TileRun>(div_up<int64_t>(n_tokens, Set::kTileTokens) * (n_in / kRun));
  }

  static Panel take_panel(ScratchPieces& memory) {
    Panel panel;
    panel.codes = memory.take<int8_t>(kSegmentRuns * kRun * Set::kPanelRows);
    panel.steps = memory.take<float>(2 * kSegmentRuns * Set::kPanelRows);
    panel.offsets = memory.take<float>(2 * kSegmentRuns * Set::kPanelRows);
    panel.start = memory.take<int32_t>(2 * kSegmentRuns * Set::kPanelRows);
    return panel;
  }

  // Runs of n tokens, the rows of x, into a tile.
  static void pack_runs(const float* x, int64_t n_in, int64_t n, int64_t n_runs, TileRun* tile) {
    alignas(64) int8_t codes[kPackedRuns * kRun];
    alignas(64) float steps[kPackedRuns], sums[kPackedRuns], half_sums[2 * kPackedRuns];
    alignas(64) int32_t minus_codes[kPackedRuns], half_minus_codes[2 * kPackedRuns];
    for (int64_t t = 0; t < n; ++t) {
      Set::quantise_row(x + t * n_in, n_runs, {codes, steps, sums, half_sums, minus_codes, half_minus_codes});
      for (int64_t run = 0; run < n_runs; ++run) {
        for (int64_t i = 0; i < kRun; ++i)
          tile[run].codes[t][i] = static_cast<int8_t>(codes[run * kRun + i] ^ Set::kCodeFlip);
        tile[run].steps[t] = steps[run];
        tile[run].sums[t] = sums[run];
        for (int half = 0; half < 2; ++half) tile[run].half_sums[half][t] = half_sums[2 * run + half];
      }
    }
  }

  static void pack_tiles(ThreadPool& pool, const Tensor& x, TileRun* tiles) {
    const int64_t n_in = x.ne[0], n_tokens = x.n_rows(), n_runs = n_in / kRun;
    const int64_t pieces = div_up(n_runs, kPackedRuns);
    pool.run(div_up<int64_t>(n_tokens, Set::kTileTokens) * pieces, [&](int64_t task, int) {
      const int64_t tile = task / pieces, run = task % pieces * kPackedRuns;
      const int64_t token = tile * Set::kTileTokens;
      pack_runs(x.as<float>() + token * n_in + run * kRun, n_in,
                std::min<int64_t>(Set::kTileTokens, n_tokens - token), std::min(kPackedRuns, n_runs - run),
                tiles + tile * n_runs + run);
    });
  }

  static constexpr int64_t kAskedBytes = 128;  // at least, with each run of a tile

  // A panel of one output times tiles [first_tile, end_tile).
  static void multiply(const MatmulArgs& args, const Strips& strips, const TileRun* tiles,
                       const RowTask& task, int64_t first_tile, int64_t end_tile, const Panel& panel) {
    if (first_tile >= end_tile) return;  // there are more parts than tiles
    const Linear& linear = args.w[task.output];
    const QuantisedKernel kernel = Set::kernel(linear.weight.dtype);
    const int64_t n_out = linear.weight.n_rows(), n_runs = args.x.ne[0] / kRun;
    const float* bias = linear.bias ? linear.bias.template as<float>() + task.first_row : nullptr;
    float* out = args.out[task.output].template as<float>() + task.first_row;
    const auto panel_bytes = Set::kPanelRows * static_cast<int64_t>(linear.weight.row_size());
    const std::byte* own_strips = strips[task.output];
    const std::byte* first_row =
        (own_strips ? own_strips : linear.weight.data) + task.first_row * linear.weight.row_size();
    const std::byte* next_panel = first_row + panel_bytes;
    // Asked for by several tiles: memory would keep one waiting that asks for all.
    const int64_t run_bytes = panel_bytes / n_runs;
    const int64_t n_asking = std::clamp<int64_t>(run_bytes / kAskedBytes, 1, end_tile - first_tile);
    const int64_t asked_bytes = align_up(div_up(run_bytes, n_asking), kAskedBytes);
    const auto multiply_panel =
        own_strips && kernel.multiply_strip ? kernel.multiply_strip : kernel.multiply_panel;
    if (kernel.begin_panels) kernel.begin_panels();
    for (int64_t run = 0; run < n_runs; run += kSegmentRuns) {
      PanelArgs part;
      part.panel = panel;
      part.n_runs = std::min(kSegmentRuns, n_runs - run);
      part.n_rows = task.n_rows;
      part.out_stride = n_out;
      part.strip = own_strips ? first_row + run * run_bytes : nullptr;

      const std::byte* rows[Set::kPanelRows];
      if (own_strips) {
        rows[0] = first_row + run * run_bytes;
        kernel.unpack_strip({rows, part.n_runs, panel});
      } else {
        for (int r = 0; r < Set::kPanelRows; ++r) {  // a ragged panel repeats its last row
          rows[r] = first_row + std::min<int64_t>(r, task.n_rows - 1) * linear.weight.row_size() +
                    row_bytes(linear.weight.dtype, run * kRun);
        }
        kernel.unpack({rows, part.n_runs, panel});
      }

      for (int64_t tile = first_tile; tile < end_tile; ++tile) {
        const int64_t token = tile * Set::kTileTokens;
        part.x = reinterpret_cast<const std::byte*>(tiles + tile * n_runs + run);
        part.n_tokens = static_cast<int>(std::min<int64_t>(Set::kTileTokens, args.x.n_rows() - token));
        part.out = out + token * n_out;
        part.start = run == 0 ? bias : part.out;
        part.start_stride = run == 0 ? 0 : n_out;
        const int64_t asked = (tile - first_tile) * asked_bytes;
        part.ahead_bytes = std::clamp<int64_t>(run_bytes - asked, 0, asked_bytes);
        part.ahead = next_panel + run * run_bytes + asked * part.n_runs;
        multiply_panel(part);
      }
    }
    if (kernel.end_panels) kernel.end_panels();
  }

  static void run_gemm(ThreadPool& pool, const MatmulArgs& args, ScratchPieces memory) {
    const int64_t n_in = args.x.ne[0], n_tokens = args.x.n_rows();
    const int64_t n_tiles = div_up<int64_t>(n_tokens, Set::kTileTokens);
    TileRun* tiles = take_tiles(memory, n_in, n_tokens);
    pack_tiles(pool, args.x, tiles);
    const Strips strips = strips_of(args);

    const RowTasks panels = RowTasks::by_rows(args, Set::kPanelRows);
    const int64_t parts = token_parts(panels.size(), n_tiles, pool.n_threads());
    const int64_t tiles_per_part = div_up(n_tiles, parts);
    ScratchPieces one_panel;
    take_panel(one_panel);
    pool.run(panels.size() * parts, [&](int64_t index, int thread) {
      ScratchPieces own{memory.base, memory.used + static_cast<size_t>(thread) * one_panel.used};
      const int64_t first_tile = index % parts * tiles_per_part;
      multiply(args, strips, tiles, panels[index / parts], first_tile,
               std::min(n_tiles, first_tile + tiles_per_part), take_panel(own));
    });
  }
};

}  // namespace parlance::matmul
