// Quantised weights as panels of bf16, for products with many tokens: a tile of floats takes any number of
// values in a row, where one of integers has to be scaled every 32 of them. A product is that of the weights'
// values, each rounded to bf16.
#include <algorithm>

#include "base/checked.h"
#include "base/dtype.h"
#include "kernels/cpu/matmul/amx/tiles.h"
#include "kernels/cpu/matmul/avx512/quantised.h"
#include "kernels/cpu/simd/amx.h"

#ifdef PARLANCE_X86

namespace parlance::matmul::amx {

namespace {

#define INLINE_AMX PARLANCE_AMX PARLANCE_INLINE

using namespace avx512;
static_assert(kPanelRows == kBf16PanelRows);

constexpr int64_t kPieces = kRun / 4;
constexpr int64_t kVectorRows = 16;
// Whole blocks of every type; what they are unpacked to stays in the first level cache.
constexpr int64_t kRunsAtOnce = 8;

// Sixteen rows' value number i of a piece of four codes.
template <int i>
INLINE_AMX __m512 value_of(__m512i codes, __m512 step, const float* offsets) {
  const __m512i code = _mm512_srai_epi32(i < 3 ? _mm512_slli_epi32(codes, 24 - 8 * i) : codes, 24);
  const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(code), step);
  return offsets ? _mm512_add_ps(value, _mm512_loadu_ps(offsets)) : value;
}

// Values that follow each other in sixteen rows, as pairs of bf16.
INLINE_AMX __m512i pairs_of(__m512 first, __m512 second) {
  alignas(64) static constexpr uint16_t kInTurn[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                       21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                       11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(kInTurn), (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

// Runs of an unpacked panel; `kParts` of each have steps of their own.
template <int kParts, bool kHasOffset>
PARLANCE_AMX void widen(const Panel& panel, int64_t n_runs, float* block) {
  for (int64_t run = 0; run < n_runs; ++run, block += kRun / 2 * kPanelRows) {
    for (int64_t v = 0; v < kPanelRows; v += kVectorRows) {
#pragma GCC unroll 8
      for (int64_t piece = 0; piece < kPieces; ++piece) {
        const int64_t part = run * kParts + piece * kParts / kPieces;
        const __m512 step = _mm512_load_ps(panel.steps + part * kPanelRows + v);
        const float* offsets = kHasOffset ? panel.offsets + part * kPanelRows + v : nullptr;
        const __m512i codes = _mm512_load_si512(panel.codes + ((run * kPieces + piece) * kPanelRows + v) * 4);
        _mm512_store_si512(block + place_in_block(v, 2 * piece),
                           pairs_of(value_of<0>(codes, step, offsets), value_of<1>(codes, step, offsets)));
        _mm512_store_si512(block + place_in_block(v, 2 * piece + 1),
                           pairs_of(value_of<2>(codes, step, offsets), value_of<3>(codes, step, offsets)));
      }
    }
  }
}

template <DType kType, Unpack* kUnpack, int kParts, bool kHasOffset, bool kIsStrip = false>
void pack(const FloatPackArgs& args) {
  alignas(64) int8_t codes[kRunsAtOnce * kRun * kPanelRows];
  alignas(64) float steps[2 * kRunsAtOnce * kPanelRows], offsets[2 * kRunsAtOnce * kPanelRows];
  alignas(64) int32_t start[2 * kRunsAtOnce * kPanelRows];
  const Panel panel{codes, steps, offsets, start};
  const size_t bytes = row_bytes(kType, kRunsAtOnce * kRun) * (kIsStrip ? kStripRows : 1);
  const std::byte* rows[kPanelRows];
  std::copy_n(args.rows, kIsStrip ? 1 : kPanelRows, rows);
  for (int64_t run = 0; run < args.n_values / kRun; run += kRunsAtOnce) {
    const int64_t n_runs = std::min(kRunsAtOnce, args.n_values / kRun - run);
    kUnpack({rows, n_runs, panel});
    widen<kParts, kHasOffset>(panel, n_runs, args.steps + run * kRun / 2 * kPanelRows);
    for (int r = 0; r < (kIsStrip ? 1 : kPanelRows); ++r) rows[r] += bytes;
  }
}

FloatKernel kernel_with(void (*pack_weights)(const FloatPackArgs&),
                        void (*pack_strip)(const FloatPackArgs&) = nullptr) {
  FloatKernel kernel = kBf16Blocks;
  kernel.pack_weights = pack_weights;
  kernel.pack_strip = pack_strip;
  return kernel;
}

}  // namespace

const FloatKernel* quantised_as_bf16(DType dtype) {
  using enum DType;
  static const FloatKernel q8 = kernel_with(pack<q8_0, unpack_q8_0, 1, false>,
                                            pack<q8_0, unpack_strip_q8_0, 1, false, true>),
                           q4 = kernel_with(pack<q4_0, unpack_q4_0, 1, false>,
                                            pack<q4_0, unpack_strip_q4_0, 1, false, true>),
                           q4_with_offset = kernel_with(pack<q4_1, unpack_q4_1, 1, true>),
                           q5 = kernel_with(pack<q5_0, unpack_q5_0, 1, false>),
                           q5_with_offset = kernel_with(pack<q5_1, unpack_q5_1, 1, true>),
                           iq4 = kernel_with(pack<iq4_nl, unpack_iq4_nl, 1, false>),
                           iq4_in_256 = kernel_with(pack<iq4_xs, unpack_iq4_xs, 1, false>),
                           q2k = kernel_with(pack<q2_k, unpack_q2_k, 2, true>),
                           q3k = kernel_with(pack<q3_k, unpack_q3_k, 2, false>),
                           q4k = kernel_with(pack<q4_k, unpack_q4_k, 1, true>,
                                             pack<q4_k, unpack_strip_q4_k, 1, true, true>),
                           q5k = kernel_with(pack<q5_k, unpack_q5_k, 1, true>),
                           q6k = kernel_with(pack<q6_k, unpack_q6_k, 2, false>,
                                             pack<q6_k, unpack_strip_q6_k, 2, false, true>);
  switch (dtype) {
    case q8_0:
      return &q8;
    case q4_0:
      return &q4;
    case q4_1:
      return &q4_with_offset;
    case q5_0:
      return &q5;
    case q5_1:
      return &q5_with_offset;
    case iq4_nl:
      return &iq4;
    case iq4_xs:
      return &iq4_in_256;
    case q2_k:
      return &q2k;
    case q3_k:
      return &q3k;
    case q4_k:
      return &q4k;
    case q5_k:
      return &q5k;
    default:
      return &q6k;
  }
}

}  // namespace parlance::matmul::amx

#endif
