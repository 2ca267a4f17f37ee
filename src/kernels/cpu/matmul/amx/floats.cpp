// matmul with float weights on AMX: bf16 weights meet activations rounded to bf16 in tiles, for any number of
// tokens; all else is as on AVX-512 with BF16. The order of sums is that of the tile instruction, which
// order_of_sums.h has.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/cpu/matmul/amx/tiles.h"
#include "kernels/cpu/matmul/order_of_sums.h"
#include "kernels/cpu/simd/amx.h"
#include "kernels/cpu/simd/avx512.h"

#ifdef PARLANCE_X86

namespace parlance::matmul {

namespace {

#define INLINE_AMX PARLANCE_AMX PARLANCE_INLINE

constexpr auto kLayout = kStepLayouts[static_cast<size_t>(StepKind::bf16_blocks)];
constexpr int64_t kBlock = kLayout.values_per_block;
constexpr int64_t kPairs = kLayout.steps_per_block;
constexpr int64_t kBlockBytes = kBlock * static_cast<int64_t>(sizeof(bf16_bits));
constexpr int kPanelRows = amx::kBf16PanelRows;
constexpr int kTileTokens = amx::kBf16TileTokens;
constexpr int kVectors = 2;
static_assert(kBlockBytes == simd::kTileRowBytes && kPairs == simd::kTileRows && kBlock == 2 * kPairs);

// The first n values of a block at w, zeros behind them.
INLINE_AMX __m512i load_pairs(const std::byte* w, int64_t n) {
  return n >= kBlock ? _mm512_loadu_si512(w) : _mm512_maskz_loadu_epi16((__mmask32{1} << n) - 1, w);
}

// A block of activations, rounded; zeros behind the first n.
INLINE_AMX __m512i round_block(const float* x, int64_t n) {
  __m512 low, high;
  if (n >= kBlock) {
    low = _mm512_loadu_ps(x), high = _mm512_loadu_ps(x + 16);
  } else {
    low = n >= 16 ? _mm512_loadu_ps(x) : simd::Avx512::load_first(x, n);
    high = n > 16 ? simd::Avx512::load_first(x + 16, n - 16) : _mm512_setzero_ps();
  }
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

PARLANCE_AMX void round_row(const float* x, int64_t n, float* pairs) {
  for (int64_t i = 0; i < n; i += kBlock, pairs += kPairs)
    _mm512_storeu_si512(pairs, round_block(x + i, n - i));
}

PARLANCE_AMX void pack_weights(const FloatPackArgs& args) {
  for (int64_t first = 0; first < args.n_values; first += kBlock) {
    float* block = args.steps + first / 2 * kPanelRows;
    for (int v = 0; v < kVectors; ++v) {
      __m512 square[simd::kTileRows];
#pragma GCC unroll 16
      for (int r = 0; r < simd::kTileRows; ++r) {
        square[r] = _mm512_castsi512_ps(load_pairs(
            args.rows[v * simd::kTileRows + r] + first * sizeof(bf16_bits), args.n_values - first));
      }
      simd::Avx512::transpose(square);
#pragma GCC unroll 16
      for (int k = 0; k < kPairs; ++k)
        _mm512_storeu_ps(block + amx::place_in_block(v * simd::kTileRows, k), square[k]);
    }
  }
}

// [block][token][pair]
PARLANCE_AMX void pack_tokens(const FloatPackArgs& args) {
  for (int64_t first = 0; first < args.n_values; first += kBlock) {
    float* block = args.steps + first / 2 * kTileTokens;
    for (int t = 0; t < kTileTokens; ++t) {
      _mm512_storeu_si512(
          block + t * kPairs,
          round_block(reinterpret_cast<const float*>(args.rows[t]) + first, args.n_values - first));
    }
  }
}

// Tiles 0 to 3 are sums, of sixteen tokens in 4 and sixteen in 5 with the rows in 6 and 7.
constexpr simd::TileShapes kPanelShapes = [] {
  simd::TileShapes shapes;
  for (int tile = 0; tile < 8; ++tile) shapes.set(tile, simd::kTileRows, simd::kTileRowBytes);
  return shapes;
}();

PARLANCE_AMX void begin_panels() {
  _tile_loadconfig(&kPanelShapes);
}
PARLANCE_AMX void end_panels() {
  _tile_release();
  _mm_sfence();  // what was streamed is there when another thread is told that it is
}

// A panel goes through the first level cache in such stretches, each for all tokens whose sums wait meanwhile
// in the second.
constexpr int64_t kStretchSteps = 8 * kPairs;
constexpr int kTilesAtOnce = 32;
constexpr int64_t kTileSteps = kTileTokens * kPairs;  // of a block
using TileSums = float[kVectors][kTileTokens][simd::kTileRows];

INLINE_AMX void load_sums(const TileSums& of, bool begins, int which) {
  if (which == 0) {
    if (begins) {
      _tile_zero(0);
      _tile_zero(1);
    } else {
      _tile_loadd(0, of[0], simd::kTileRowBytes);
      _tile_loadd(1, of[1], simd::kTileRowBytes);
    }
  } else if (begins) {
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(2, of[0], simd::kTileRowBytes);
    _tile_loadd(3, of[1], simd::kTileRowBytes);
  }
}

// A stretch of a panel times one or two tiles.
template <bool kTwoTiles>
INLINE_AMX void multiply_tiles(const float* panel, const float* x, int64_t tile_stride, int64_t n_steps,
                               bool begins, TileSums* sums) {
  const float* second = x + tile_stride;
  load_sums(sums[0], begins, 0);
  if constexpr (kTwoTiles) load_sums(sums[1], begins, 1);
  for (int64_t step = 0; step < n_steps; step += kPairs) {
    _tile_loadd(4, x, simd::kTileRowBytes);
    _tile_loadd(6, panel, simd::kTileRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoTiles) {
      _tile_loadd(5, second, simd::kTileRowBytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    _tile_loadd(7, panel + amx::place_in_block(simd::kTileRows, 0), simd::kTileRowBytes);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kTwoTiles) _tile_dpbf16ps(3, 5, 7);
    x += kTileSteps;
    second += kTileSteps;
    panel += kPanelRows * kPairs;
  }
  _tile_stored(0, sums[0][0], simd::kTileRowBytes);
  _tile_stored(1, sums[0][1], simd::kTileRowBytes);
  if constexpr (kTwoTiles) {
    _tile_stored(2, sums[1][0], simd::kTileRowBytes);
    _tile_stored(3, sums[1][1], simd::kTileRowBytes);
  }
}

bool is_on_lines(const float* out) {
  return reinterpret_cast<uintptr_t>(out) % simd::kTileRowBytes == 0;
}

// Tokens [first, end) of the results are asked for: storing them would wait.
INLINE_AMX void prefetch_out(const FloatPanelArgs& args, int first, int end) {
  for (int t = first; t < end; ++t) {
    for (int64_t row = 0; row < args.n_rows; row += simd::kTileRows)
      __builtin_prefetch(args.out + t * args.out_stride + row, 1);
  }
}

// Tokens [first, end).
INLINE_AMX void put_out(const FloatPanelArgs& args, int first, int end, const TileSums* sums, bool streams) {
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = v * simd::kTileRows;
    const int64_t n_rows = std::clamp<int64_t>(args.n_rows - at, 0, simd::kTileRows);
    const auto rows = static_cast<__mmask16>((1u << n_rows) - 1);
    for (int t = first; t < end; ++t) {
      const __m512 start = args.start ? _mm512_maskz_loadu_ps(rows, args.start + t * args.start_stride + at)
                                      : _mm512_setzero_ps();
      const __m512 sum = _mm512_load_ps(sums[(t - first) / kTileTokens][v][(t - first) % kTileTokens]);
      float* out = args.out + t * args.out_stride + at;
      if (streams) {
        _mm512_stream_ps(out, _mm512_add_ps(start, sum));
      } else {
        _mm512_mask_storeu_ps(out, rows, _mm512_add_ps(start, sum));
      }
    }
  }
}

PARLANCE_AMX void multiply_panel(const FloatPanelArgs& args) {
  alignas(64) TileSums sums[kTilesAtOnce];
  const int n_tiles = static_cast<int>(div_up<int64_t>(args.n_tokens, kTileTokens));
  const bool streams = args.streams_out && args.n_rows == kPanelRows && is_on_lines(args.out) &&
                       args.out_stride % simd::kTileRows == 0;
  for (int64_t step = 0; step < args.n_steps; step += kStretchSteps) {
    const int64_t n_steps = std::min(kStretchSteps, args.n_steps - step);
    const bool ends = step + n_steps == args.n_steps;
    const float *panel = args.panel + step * kPanelRows, *x = args.x + step * kTileTokens;
    for (int tile = 0; tile < n_tiles; tile += 2, x += 2 * args.tile_stride) {
      const int first = tile * kTileTokens, end = std::min(first + 2 * kTileTokens, args.n_tokens);
      if (ends && !streams) prefetch_out(args, first, end);
      if (tile + 2 <= n_tiles) {
        multiply_tiles<true>(panel, x, args.tile_stride, n_steps, step == 0, sums + tile);
      } else {
        multiply_tiles<false>(panel, x, 0, n_steps, step == 0, sums + tile);
      }
      if (ends) put_out(args, first, end, sums + tile, streams);
    }
  }
}

// ---- Few tokens: tiles of weights as they lie there ----

// Tiles 0 to 3 are sums of rows in 4 with a token each, whose pairs 5 has.
constexpr std::array<simd::TileShapes, simd::kTileRows + 1> kRowShapes = [] {
  std::array<simd::TileShapes, simd::kTileRows + 1> all;
  for (int n_rows = 1; n_rows <= simd::kTileRows; ++n_rows) {
    for (int tile = 0; tile < FloatKernels::kGemvTokens; ++tile) all[n_rows].set(tile, n_rows, sizeof(float));
    all[n_rows].set(4, n_rows, simd::kTileRowBytes);
    all[n_rows].set(5, simd::kTileRows, sizeof(float));
  }
  return all;
}();
// Sixteen rows are too many short streams for the processor's own prefetching: the weights are asked for, as
// one stream, this far ahead.
constexpr int64_t kPrefetchBytes = 4096;

template <int kTokens>
INLINE_AMX void add_block(const std::byte* weights, int64_t row_bytes, const float* x, int64_t x_stride) {
  _tile_loadd(4, weights, row_bytes);
  _tile_loadd(5, x, sizeof(float));
  _tile_dpbf16ps(0, 4, 5);
  if constexpr (kTokens > 1) {
    _tile_loadd(5, x + x_stride, sizeof(float));
    _tile_dpbf16ps(1, 4, 5);
  }
  if constexpr (kTokens > 2) {
    _tile_loadd(5, x + 2 * x_stride, sizeof(float));
    _tile_dpbf16ps(2, 4, 5);
  }
  if constexpr (kTokens > 3) {
    _tile_loadd(5, x + 3 * x_stride, sizeof(float));
    _tile_dpbf16ps(3, 4, 5);
  }
}

// Up to sixteen rows; what is left at the end of each is copied, to have zeros behind it.
template <int kTokens>
INLINE_AMX void multiply_rows(const FloatGemvArgs& args, int64_t first, int64_t n_rows) {
  const auto row_bytes = static_cast<int64_t>(args.row_bytes);
  const std::byte* weights = args.weight + first * row_bytes;
  const std::byte* ahead = weights + n_rows * row_bytes + kPrefetchBytes;
  const auto rows = static_cast<__mmask16>((1u << n_rows) - 1);
  __m512 totals[kTokens];
  for (__m512& total : totals)
    total = args.bias ? _mm512_maskz_loadu_ps(rows, args.bias + first) : _mm512_setzero_ps();
  for (int64_t begin = 0; begin < args.n_in; begin += 2 * kSegmentSteps) {
    const int64_t end = std::min(begin + 2 * kSegmentSteps, args.n_in);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    int64_t i = begin;
    for (; i + kBlock <= end; i += kBlock) {
      for (int64_t byte = 0; byte < n_rows * kBlockBytes; byte += 64)
        _mm_prefetch(reinterpret_cast<const char*>(ahead + byte), _MM_HINT_T1);
      ahead += n_rows * kBlockBytes;
      add_block<kTokens>(weights + i * static_cast<int64_t>(sizeof(bf16_bits)), row_bytes, args.x + i / 2,
                         args.x_stride);
    }
    if (i < end) {
      alignas(64) std::byte rest[simd::kTileRows][kBlockBytes];
      for (int64_t r = 0; r < n_rows; ++r) {
        const std::byte* row = weights + r * row_bytes + i * static_cast<int64_t>(sizeof(bf16_bits));
        _mm512_store_si512(rest[r], load_pairs(row, end - i));
      }
      asm volatile("" ::: "memory");  // compilers take tiles for something that reads no memory
      add_block<kTokens>(rest[0], kBlockBytes, args.x + i / 2, args.x_stride);
    }
    alignas(64) float sums[FloatKernels::kGemvTokens][simd::kTileRows];
    _tile_stored(0, sums[0], sizeof(float));
    if constexpr (kTokens > 1) _tile_stored(1, sums[1], sizeof(float));
    if constexpr (kTokens > 2) _tile_stored(2, sums[2], sizeof(float));
    if constexpr (kTokens > 3) _tile_stored(3, sums[3], sizeof(float));
    for (int t = 0; t < kTokens; ++t) totals[t] = _mm512_add_ps(totals[t], _mm512_load_ps(sums[t]));
  }
  for (int t = 0; t < kTokens; ++t)
    _mm512_mask_storeu_ps(args.out + t * args.out_stride + first, rows, totals[t]);
}

template <int kTokens>
PARLANCE_AMX void multiply_all_rows(const FloatGemvArgs& args) {
  int64_t first = 0;
  if (args.n_rows >= simd::kTileRows) {
    _tile_loadconfig(&kRowShapes[simd::kTileRows]);
    for (; first + simd::kTileRows <= args.n_rows; first += simd::kTileRows)
      multiply_rows<kTokens>(args, first, simd::kTileRows);
  }
  if (const int64_t n_rest = args.n_rows - first; n_rest > 0) {
    _tile_loadconfig(&kRowShapes[static_cast<size_t>(n_rest)]);
    multiply_rows<kTokens>(args, first, n_rest);
  }
  _tile_release();
}

void gemv(const FloatGemvArgs& args) {
  static_assert(FloatKernels::kGemvTokens == 4);
  switch (args.n_tokens) {
    case 1:
      return multiply_all_rows<1>(args);
    case 2:
      return multiply_all_rows<2>(args);
    case 3:
      return multiply_all_rows<3>(args);
    default:
      return multiply_all_rows<4>(args);
  }
}

}  // namespace

const FloatKernel amx::kBf16Blocks = {.gemv = gemv,
                                      .round_row = round_row,
                                      .steps = StepKind::bf16_blocks,
                                      .pack_weights = pack_weights,
                                      .pack_tokens = pack_tokens,
                                      .multiply_panel = multiply_panel,
                                      .tiles_at_once = kTilesAtOnce,
                                      .begin_panels = begin_panels,
                                      .end_panels = end_panels,
                                      .tile_tokens = kTileTokens};

const FloatKernels kFloatsAmx = {.panel_rows = kPanelRows,
                                 .tile_tokens = kFloatsAvx512Bf16.tile_tokens,
                                 .f32 = kFloatsAvx512Bf16.f32,
                                 .f16 = kFloatsAvx512Bf16.f16,
                                 .bf16 = amx::kBf16Blocks};

const FloatKernels kDeterministicFloatsAmx = {.panel_rows = kPanelRows,
                                              .tile_tokens = kFloatsAvx512Bf16.tile_tokens,
                                              .f32 = kDeterministicFloatsAvx512Bf16.f32,
                                              .f16 = kDeterministicFloatsAvx512Bf16.f16,
                                              .bf16 = amx::kBf16Blocks};

const FloatKernels kQuantisedAsFloatsAmx = {.panel_rows = kPanelRows,
                                            .tile_tokens = kTileTokens,
                                            .f32 = {},
                                            .f16 = {},
                                            .bf16 = {},
                                            .quantised = amx::quantised_as_bf16};

}  // namespace parlance::matmul

#endif
