// gemm with AMX: a panel of 32 rows times a tile of up to 32 tokens, chain by chain (order_of_sums.h). Of
// some parts of a chain, runs or halves of these, tile instructions make the integers; vectors then take them
// from the first level cache into sums of eight tokens at a time.
#include <algorithm>
#include <bit>

#include "kernels/cpu/matmul/amx/quantised.h"
#include "kernels/cpu/matmul/order_of_sums.h"
#include "kernels/cpu/simd/amx.h"
#include "quant/q8_0.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::amx {

namespace {

#define INLINE_AMX PARLANCE_AMX PARLANCE_INLINE

using avx512::kPanelRows;
constexpr int kSide = 16;         // rows and columns of a tile of integers
constexpr int kVectors = 2;       // of rows
constexpr int kEighthTokens = 8;  // whose sums registers hold
constexpr int kPartsAtOnce = 4;   // whose integers, with all else, stay in the first level cache
constexpr int64_t kStripRunBytes = kStripRows * static_cast<int64_t>(sizeof(BlockQ8_0));
constexpr int64_t kRowBytes = kPanelRows * 4;  // of a panel's pieces, and of integers
static_assert(kPanelRows == kVectors * kSide && kTileTokens == 2 * kSide);

using Run = RunActivations<kTileTokens>;
using Integers = int32_t[kTileTokens][kPanelRows];
using TileSums = float[kTileTokens][kPanelRows];
using Sums = __m512[kEighthTokens][kVectors];

// Tiles 0 to 3 are integers, of tokens in 4 and 5 with rows in 6 and 7.
constexpr simd::TileShapes shapes_of(int part_codes) {
  simd::TileShapes shapes;
  for (int tile = 0; tile < 4; ++tile) shapes.set(tile, kSide, kSide * 4);
  for (int tile = 4; tile < 6; ++tile) shapes.set(tile, kSide, part_codes);
  for (int tile = 6; tile < 8; ++tile) shapes.set(tile, part_codes / 4, kSide * 4);
  return shapes;
}
template <int kPartCodes>
constexpr simd::TileShapes kShapes = shapes_of(kPartCodes);

// A panel and a tile, part by part.
template <bool kHalfRuns, bool kHasOffset, bool kFromStrip>
struct Product {
  static constexpr int kParts = kHalfRuns ? 2 : 1;  // of a run
  static constexpr int kPartCodes = kRun / kParts;
  static constexpr int kChains = kHalfRuns ? kHalfRunChains : kRunChains;
  static constexpr int kLevels = std::countr_zero(unsigned{kChains});

  const PanelArgs& args;
  Integers* integers;  // [kPartsAtOnce]
  TileSums& sums;
  TileSums* waiting;  // [kLevels]

  INLINE_AMX const Run& run_of(int64_t part) const {
    return reinterpret_cast<const Run*>(args.x)[part / kParts];
  }

  // The products of part `part` as integers. Two of four tiles are left to be stored while the next ones are
  // computed, by the next call (`unstored` is where to) or by store_last(): storing waits for the product.
  template <bool kMoreThanSixteen>
  INLINE_AMX void multiply_part(int64_t part, Integers& out, Integers* unstored) const {
    const int8_t* x = run_of(part).codes[0] + part % kParts * kPartCodes;
    _tile_loadd(4, x, kRun);
    if constexpr (kFromStrip) {
      const std::byte* w = args.strip + part * kStripRunBytes;
      _tile_loadd(6, w, 4 * kSide);
      _tile_loadd(7, w + kRun * kSide, 4 * kSide);
    } else {
      const int8_t* w = args.panel.codes + part * kPartCodes * kPanelRows;
      _tile_loadd(6, w, kRowBytes);
      _tile_loadd(7, w + 4 * kSide, kRowBytes);
    }
    if (kMoreThanSixteen) _tile_loadd(5, x + kSide * kRun, kRun);
    _tile_zero(0);
    _tile_dpbssd(0, 4, 6);
    if (unstored) _tile_stored(2, (*unstored)[kSide], kRowBytes);
    _tile_zero(1);
    _tile_dpbssd(1, 4, 7);
    if (unstored) _tile_stored(3, (*unstored)[kSide] + kSide, kRowBytes);
    if (kMoreThanSixteen) {
      _tile_zero(2);
      _tile_dpbssd(2, 5, 6);
    }
    _tile_stored(0, out[0], kRowBytes);
    if (kMoreThanSixteen) {
      _tile_zero(3);
      _tile_dpbssd(3, 5, 7);
    }
    _tile_stored(1, out[0] + kSide, kRowBytes);
  }
  INLINE_AMX static void store_last(Integers& out) {
    _tile_stored(2, out[kSide], kRowBytes);
    _tile_stored(3, out[kSide] + kSide, kRowBytes);
  }

  // sum += steps * integers + offsets * x for tokens [first, first + kEighthTokens).
  INLINE_AMX void add_part(int64_t part, const Integers& dots, int first, Sums& sum) const {
    const Run& run = run_of(part);
    const float* x_steps = run.steps + first;
    const float* x_sums = (kHalfRuns ? run.half_sums[part % kParts] : run.sums) + first;
    __m512 step[kVectors], offset[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      step[v] = _mm512_loadu_ps(args.panel.steps + part * kPanelRows + v * kSide);
      if constexpr (kHasOffset)
        offset[v] = _mm512_loadu_ps(args.panel.offsets + part * kPanelRows + v * kSide);
    }
#pragma GCC unroll 8
    for (int t = 0; t < kEighthTokens; ++t) {
      const __m512 x_step = _mm512_set1_ps(x_steps[t]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kHasOffset)
          sum[t][v] = _mm512_fmadd_ps(offset[v], _mm512_set1_ps(x_sums[t]), sum[t][v]);
        const __m512 dot = _mm512_cvtepi32_ps(_mm512_load_si512(dots[first + t] + v * kSide));
        sum[t][v] = _mm512_fmadd_ps(dot, _mm512_mul_ps(step[v], x_step), sum[t][v]);
      }
    }
  }

  INLINE_AMX static void load(const float (*from)[kPanelRows], Sums& sum) {
#pragma GCC unroll 8
    for (int t = 0; t < kEighthTokens; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[t][v] = _mm512_load_ps(from[t] + v * kSide);
    }
  }
  INLINE_AMX static void store(const Sums& sum, float (*to)[kPanelRows]) {
#pragma GCC unroll 8
    for (int t = 0; t < kEighthTokens; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) _mm512_store_ps(to[t] + v * kSide, sum[t][v]);
    }
  }

  INLINE_AMX void put_out(int first, const Sums& sum) const {
    const __mmask16 rows[kVectors] = {
        static_cast<__mmask16>(args.n_rows >= 16 ? 0xffff : (1 << args.n_rows) - 1),
        static_cast<__mmask16>(args.n_rows <= 16 ? 0 : (1ll << (args.n_rows - 16)) - 1)};
#pragma GCC unroll 8
    for (int t = 0; t < kEighthTokens; ++t) {
      if (first + t >= args.n_tokens) return;
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        const __m512 start =
            args.start
                ? _mm512_maskz_loadu_ps(rows[v], args.start + (first + t) * args.start_stride + v * kSide)
                : _mm512_setzero_ps();
        _mm512_mask_storeu_ps(args.out + (first + t) * args.out_stride + v * kSide, rows[v],
                              _mm512_add_ps(start, sum[t][v]));
      }
    }
  }

  // n parts of chain number i, from part `part` on, whose integers are there, added to the sums of eight
  // tokens.
  INLINE_AMX void add_parts(int i, int64_t part, int n, int first, bool begins, bool ends) const {
    Sums sum;
    if (begins) {
#pragma GCC unroll 8
      for (int t = 0; t < kEighthTokens; ++t) sum[t][0] = sum[t][1] = _mm512_setzero_ps();
    } else {
      load(sums + first, sum);
    }
    if (n == kPartsAtOnce) {
#pragma GCC unroll 4
      for (int k = 0; k < kPartsAtOnce; ++k) add_part(part + k * kChains, integers[k], first, sum);
    } else {
      for (int k = 0; k < n; ++k) add_part(part + k * kChains, integers[k], first, sum);
    }
    if (!ends) return store(sum, sums + first);
    int level = 0;
    for (; i >> level & 1; ++level) {
#pragma GCC unroll 8
      for (int t = 0; t < kEighthTokens; ++t) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          sum[t][v] = _mm512_add_ps(sum[t][v], _mm512_load_ps(waiting[level][first + t] + v * kSide));
        }
      }
    }
    if (level == kLevels) {
      put_out(first, sum);
    } else {
      store(sum, waiting[level] + first);
    }
  }

  template <bool kMoreThanSixteen>
  INLINE_AMX void run() const {
    const int64_t n_parts = args.n_runs * kParts, ahead_bytes = args.ahead_bytes / kParts;
    const std::byte* ahead = args.ahead;
    // Where the sums go to is asked for now: all later stores would wait for it.
    for (int t = 0; t < args.n_tokens; ++t) {
      const float* out = args.out + t * args.out_stride;
      for (int64_t row = 0; row < args.n_rows; row += kSide) __builtin_prefetch(out + row, 1);
    }
    for (int i = 0; i < kChains; ++i) {
      int64_t part = chain_number<kChains>(i);
      int64_t left = part < n_parts ? div_up<int64_t>(n_parts - part, kChains) : 0;
      bool begins = true;
      do {
        const int n = static_cast<int>(std::min<int64_t>(kPartsAtOnce, left));
        for (int k = 0; k < n; ++k) {
          for (int64_t byte = 0; byte < ahead_bytes; byte += 64) {
            _mm_prefetch(reinterpret_cast<const char*>(ahead + byte), _MM_HINT_T1);
          }
          ahead += ahead_bytes;
          multiply_part<kMoreThanSixteen>(part + k * kChains, integers[k],
                                          kMoreThanSixteen && k > 0 ? integers + k - 1 : nullptr);
        }
        if (kMoreThanSixteen && n > 0) store_last(integers[n - 1]);
        left -= n;
        for (int first = 0; first < args.n_tokens; first += kEighthTokens)
          add_parts(i, part, n, first, begins, left == 0);
        part += kPartsAtOnce * kChains;
        begins = false;
      } while (left > 0);
    }
  }
};

template <bool kHalfRuns, bool kHasOffset, bool kFromStrip = false>
PARLANCE_AMX void multiply(const PanelArgs& args) {
  using Part = Product<kHalfRuns, kHasOffset, kFromStrip>;
  alignas(64) Integers integers[kPartsAtOnce];
  alignas(64) TileSums sums, waiting[Part::kLevels];
  const Part product{args, integers, sums, waiting};
  if (args.n_tokens > kSide) {
    product.template run<true>();
  } else {
    product.template run<false>();
  }
}

}  // namespace

PARLANCE_AMX void configure_for_runs() {
  _tile_loadconfig(&kShapes<kRun>);
}
PARLANCE_AMX void configure_for_half_runs() {
  _tile_loadconfig(&kShapes<kRun / 2>);
}
PARLANCE_AMX void release() {
  _tile_release();
}

PARLANCE_AMX void unpack_strip_steps_q8_0(const UnpackArgs& args) {
  const std::byte* steps = args.rows[0] + kStripRows * kRun;
  for (int64_t run = 0; run < args.n_runs; ++run, steps += kStripRunBytes) {
    for (int v = 0; v < kVectors; ++v) {
      const auto* halves = reinterpret_cast<const __m256i*>(steps) + v;
      _mm512_storeu_ps(args.panel.steps + run * kPanelRows + v * kSide,
                       _mm512_cvtph_ps(_mm256_loadu_si256(halves)));
    }
  }
}

void multiply_strip_q8_0(const PanelArgs& args) {
  multiply<false, false, true>(args);
}
void multiply_runs(const PanelArgs& args) {
  multiply<false, false>(args);
}
void multiply_runs_with_offset(const PanelArgs& args) {
  multiply<false, true>(args);
}
void multiply_half_runs(const PanelArgs& args) {
  multiply<true, false>(args);
}
void multiply_half_runs_with_offset(const PanelArgs& args) {
  multiply<true, true>(args);
}

}  // namespace parlance::matmul::amx

#endif
