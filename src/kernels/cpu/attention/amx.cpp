// Attention's block kernels for AMX: tiles of many rows. All else is AVX-512's.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/simd/amx.h"
#include "kernels/cpu/simd/avx512.h"
#include "quant/kv_blocks.h"

#if PARLANCE_X86

namespace parlance::attention {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX512
using Lanes = simd::Avx512;
#include "kernels/cpu/attention/rows.simd.h"

#include "kernels/cpu/attention/chunks.avx512.h"
#include "kernels/cpu/attention/compressed_rows.simd.h"
#include "kernels/cpu/attention/tile_rows.amx.h"

}  // namespace

// Sums of f32 rows stay as they are for any number of rows, and a sketch's keys are signs.
const Kernels kAmx = [] {
  using enum KvFormat;
  Kernels kernels = kAvx512Vbmi;
  const auto set = [&](KvFormat format, const FormatKernels& of_format) {
    kernels.many[static_cast<size_t>(format)] = of_format;
  };
  set(f16, kTileRowsOf<F16Rows>);
  set(bf16, kTileRowsOf<Bf16Rows>);
  set(q8_0, kTileRowsOf<Q8Rows>);
  set(q4_0, kTileRowsOf<Q4Rows>);
  set(tbq3_0, kTileRowsOf<Tbq3Rows>);
  set(tbq4_0, kTileRowsOf<Tbq4Rows>);
  set(tbq3_tcq, kTileRowsOf<TcqRows>);
  set(q4_polar, kTileRowsOf<PolarRows<false>>);
  set(q4_polar_residual, kTileRowsOf<PolarRows<true>>);
  return kernels;
}();

}  // namespace parlance::attention

#endif
