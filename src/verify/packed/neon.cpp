// Kernels of the operations on packed rows for NEON.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/simd/neon.h"
#include "quant/codebook.h"
#include "quant/q4_0.h"
#include "quant/q4_polar.h"
#include "quant/q8_0.h"
#include "quant/qjl1_256.h"
#include "quant/signs.h"
#include "quant/tbq.h"
#include "quant/tbq3_tcq.h"
#include "verify/packed/kernels.h"

#if PARLANCE_NEON

namespace parlance::verify::packed {

namespace {

#define PARLANCE_SIMD
using Lanes = simd::Neon;
using attention::Tile;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // attention's queries have no place here
#include "kernels/cpu/attention/rows.simd.h"
#pragma GCC diagnostic pop

#include "kernels/cpu/attention/compressed_rows.simd.h"
#include "verify/packed/blocks.simd.h"

}  // namespace

const Kernels kNeon = kernels_for(Isa::neon);

}  // namespace parlance::verify::packed

#endif
