#include "kernels/cpu/roofline_loops.h"

#include <cstring>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/simd/amx.h"

namespace parlance {

namespace {

// Chains that run side by side: latency 4 times 2 units at least, and few enough for 16 registers.
constexpr int kChains = 12;
constexpr int kLongChains = 8;  // of several instructions, which need registers in between

// Makes the compiler believe that the value changed, so that a product of constants is computed every time.
#define PARLANCE_OPAQUE(value, constraint) asm volatile("" : constraint(value))

// Chains of the same numbers would be computed once for all of them.
#define PARLANCE_KEEP_APART(sums, constraint) \
  for (auto& sum : sums) PARLANCE_OPAQUE(sum, constraint)

namespace scalar {

constexpr int kValues = 64;

uint64_t read(const std::byte* data, size_t n_bytes) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i < n_bytes; i += sizeof sums) {
    uint64_t values[8];
    std::memcpy(values, data + i, sizeof values);
    for (int j = 0; j < 8; ++j) sums[j] += values[j];
  }
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum += s;
  return sum;
}

float f32(int64_t n_rounds) {
  float sums[kValues] = {};
  PARLANCE_KEEP_APART(sums, "+m");
  float factor = 0.5f;
  for (int64_t round = 0; round < n_rounds; ++round) {
    PARLANCE_OPAQUE(factor, "+m");
    for (float& sum : sums) sum = sum * factor + 1.0f;
  }
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

float int8(int64_t n_rounds) {
  int8_t a[kValues], b[kValues];
  std::memset(a, 1, sizeof a);
  std::memset(b, 2, sizeof b);
  int32_t total = 0;
  for (int64_t round = 0; round < n_rounds; ++round) {
    asm volatile("" : : "r"(a), "r"(b) : "memory");
    for (int i = 0; i < kValues; ++i) total += a[i] * b[i];
  }
  return static_cast<float>(total);
}

constexpr RooflineLoops kLoops = {read, {f32, 2 * kValues}, {int8, 2 * kValues}};

}  // namespace scalar

#ifdef PARLANCE_X86

namespace avx2 {

PARLANCE_AVX2 uint64_t read(const std::byte* data, size_t n_bytes) {
  __m256i sums[8] = {};
  for (size_t i = 0; i < n_bytes; i += sizeof sums) {
    const auto* values = reinterpret_cast<const __m256i*>(data + i);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) sums[j] = _mm256_add_epi64(sums[j], _mm256_load_si256(values + j));
  }
  for (int j = 1; j < 8; ++j) sums[0] = _mm256_add_epi64(sums[0], sums[j]);
  return static_cast<uint64_t>(_mm256_extract_epi64(sums[0], 0) + _mm256_extract_epi64(sums[0], 1) +
                               _mm256_extract_epi64(sums[0], 2) + _mm256_extract_epi64(sums[0], 3));
}

PARLANCE_AVX2 float f32(int64_t n_rounds) {
  __m256 sums[kChains] = {};
  PARLANCE_KEEP_APART(sums, "+x");
  __m256 factor = _mm256_set1_ps(0.5f);
  const __m256 one = _mm256_set1_ps(1.0f);
  for (int64_t round = 0; round < n_rounds; ++round) {
    PARLANCE_OPAQUE(factor, "+x");
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sums[j] = _mm256_fmadd_ps(sums[j], factor, one);
  }
  for (int j = 1; j < kChains; ++j) sums[0] = _mm256_add_ps(sums[0], sums[j]);
  return _mm256_cvtss_f32(sums[0]);
}

PARLANCE_AVX2 float int8(int64_t n_rounds) {
  __m256i sums[kLongChains] = {};
  PARLANCE_KEEP_APART(sums, "+x");
  __m256i a = _mm256_set1_epi8(1);
  const __m256i b = _mm256_set1_epi8(2), ones = _mm256_set1_epi16(1);
  for (int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 8
    for (int j = 0; j < kLongChains; ++j) {
      PARLANCE_OPAQUE(a, "+x");
      sums[j] = _mm256_add_epi32(sums[j], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  }
  for (int j = 1; j < kLongChains; ++j) sums[0] = _mm256_add_epi32(sums[0], sums[j]);
  return static_cast<float>(_mm256_extract_epi32(sums[0], 0));
}

constexpr RooflineLoops kLoops = {read, {f32, 2 * 8 * kChains}, {int8, 2 * 32 * kLongChains}};

}  // namespace avx2

namespace avx512 {

PARLANCE_AVX512 uint64_t read(const std::byte* data, size_t n_bytes) {
  __m512i sums[8] = {};
  for (size_t i = 0; i < n_bytes; i += sizeof sums) {
    const auto* values = reinterpret_cast<const __m512i*>(data + i);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) sums[j] = _mm512_add_epi64(sums[j], _mm512_load_si512(values + j));
  }
  for (int j = 1; j < 8; ++j) sums[0] = _mm512_add_epi64(sums[0], sums[j]);
  return static_cast<uint64_t>(_mm512_reduce_or_epi64(sums[0]));
}

PARLANCE_AVX512 float f32(int64_t n_rounds) {
  __m512 sums[kChains] = {};
  PARLANCE_KEEP_APART(sums, "+v");
  __m512 factor = _mm512_set1_ps(0.5f);
  const __m512 one = _mm512_set1_ps(1.0f);
  for (int64_t round = 0; round < n_rounds; ++round) {
    PARLANCE_OPAQUE(factor, "+v");
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sums[j] = _mm512_fmadd_ps(sums[j], factor, one);
  }
  for (int j = 1; j < kChains; ++j) sums[0] = _mm512_add_ps(sums[0], sums[j]);
  return _mm512_cvtss_f32(sums[0]);
}

PARLANCE_AVX512 float int8(int64_t n_rounds) {
  __m512i sums[kChains] = {};
  PARLANCE_KEEP_APART(sums, "+v");
  __m512i a = _mm512_set1_epi8(1);
  const __m512i b = _mm512_set1_epi8(2);
  for (int64_t round = 0; round < n_rounds; ++round) {
    PARLANCE_OPAQUE(a, "+v");
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sums[j] = _mm512_dpbusd_epi32(sums[j], a, b);
  }
  for (int j = 1; j < kChains; ++j) sums[0] = _mm512_add_epi32(sums[0], sums[j]);
  return static_cast<float>(_mm_cvtsi128_si32(_mm512_castsi512_si128(sums[0])));
}

PARLANCE_AVX512 float int16(int64_t n_rounds) {
  __m512i sums[kChains] = {};
  PARLANCE_KEEP_APART(sums, "+v");
  __m512i a = _mm512_set1_epi16(1);
  const __m512i b = _mm512_set1_epi16(2);
  for (int64_t round = 0; round < n_rounds; ++round) {
    PARLANCE_OPAQUE(a, "+v");
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sums[j] = _mm512_dpwssd_epi32(sums[j], a, b);
  }
  for (int j = 1; j < kChains; ++j) sums[0] = _mm512_add_epi32(sums[0], sums[j]);
  return static_cast<float>(_mm_cvtsi128_si32(_mm512_castsi512_si128(sums[0])));
}

PARLANCE_AVX512_BF16 float bf16(int64_t n_rounds) {
  __m512 sums[kChains] = {};
  PARLANCE_KEEP_APART(sums, "+v");
  __m512i bits = _mm512_set1_epi16(0x3f80);  // 1 as bf16
  for (int64_t round = 0; round < n_rounds; ++round) {
    PARLANCE_OPAQUE(bits, "+v");
    const auto values = reinterpret_cast<__m512bh>(bits);
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sums[j] = _mm512_dpbf16_ps(sums[j], values, values);
  }
  for (int j = 1; j < kChains; ++j) sums[0] = _mm512_add_ps(sums[0], sums[j]);
  return _mm512_cvtss_f32(sums[0]);
}

constexpr RooflineLoops kLoops = {
    read, {f32, 2 * 16 * kChains}, {int8, 2 * 64 * kChains}, {int16, 2 * 32 * kChains}};
constexpr RooflineLoops kLoopsBf16 = {
    kLoops.read, kLoops.f32, kLoops.int8, kLoops.int16, {bf16, 2 * 32 * kChains}};

}  // namespace avx512

namespace amx {

constexpr int kSums = 4;  // tiles, which hide the latency
constexpr simd::TileShapes kShapes = [] {
  simd::TileShapes shapes;
  for (int tile = 0; tile < kSums + 2; ++tile) shapes.set(tile, simd::kTileRows, simd::kTileRowBytes);
  return shapes;
}();

// What is loaded as two factors, before products; one of the sums afterwards.
PARLANCE_AMX PARLANCE_INLINE void begin(const void* factors) {
  _tile_loadconfig(&kShapes);
  _tile_loadd(4, factors, simd::kTileRowBytes);
  _tile_loadd(5, factors, simd::kTileRowBytes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}
PARLANCE_AMX PARLANCE_INLINE void end(void* sums) {
  _tile_stored(3, sums, simd::kTileRowBytes);
  _tile_release();
}

PARLANCE_AMX float int8(int64_t n_rounds) {
  alignas(64) int8_t ones[simd::kTileRows * simd::kTileRowBytes];
  std::memset(ones, 1, sizeof ones);
  PARLANCE_OPAQUE(ones, "+m");
  begin(ones);
  for (int64_t round = 0; round < n_rounds; ++round) {
    _tile_dpbssd(0, 4, 5);
    _tile_dpbssd(1, 4, 5);
    _tile_dpbssd(2, 4, 5);
    _tile_dpbssd(3, 4, 5);
  }
  alignas(64) int32_t sums[simd::kTileRows * simd::kTileRows];
  end(sums);
  return static_cast<float>(sums[0]);
}

PARLANCE_AMX float bf16(int64_t n_rounds) {
  alignas(64) uint16_t ones[simd::kTileRows * simd::kTileRowBytes / 2];
  for (uint16_t& one : ones) one = 0x3f80;
  PARLANCE_OPAQUE(ones, "+m");
  begin(ones);
  for (int64_t round = 0; round < n_rounds; ++round) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  alignas(64) float sums[simd::kTileRows * simd::kTileRows];
  end(sums);
  return sums[0];
}

constexpr int64_t kRoundOps = int64_t{2} * kSums * simd::kTileRows * simd::kTileRows * simd::kTileRowBytes;
constexpr RooflineLoops kLoops = {
    avx512::kLoops.read, avx512::kLoops.f32, {int8, kRoundOps}, avx512::kLoops.int16, {bf16, kRoundOps / 2}};

}  // namespace amx

#endif  // PARLANCE_X86

#ifdef PARLANCE_NEON

namespace neon {

uint64_t read(const std::byte* data, size_t n_bytes) {
  uint64x2_t sums[8];
  for (auto& sum : sums) sum = vdupq_n_u64(0);
  for (size_t i = 0; i < n_bytes; i += sizeof sums) {
    const auto* values = reinterpret_cast<const uint64_t*>(data + i);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) sums[j] = vaddq_u64(sums[j], vld1q_u64(values + 2 * j));
  }
  for (int j = 1; j < 8; ++j) sums[0] = vaddq_u64(sums[0], sums[j]);
  return vgetq_lane_u64(sums[0], 0) + vgetq_lane_u64(sums[0], 1);
}

float f32(int64_t n_rounds) {
  float32x4_t sums[kChains];
  for (auto& sum : sums) sum = vdupq_n_f32(0);
  PARLANCE_KEEP_APART(sums, "+w");
  float32x4_t a = vdupq_n_f32(0.5f);
  const float32x4_t b = vdupq_n_f32(1.0f);
  for (int64_t round = 0; round < n_rounds; ++round) {
    PARLANCE_OPAQUE(a, "+w");
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sums[j] = vfmaq_f32(sums[j], a, b);
  }
  for (int j = 1; j < kChains; ++j) sums[0] = vaddq_f32(sums[0], sums[j]);
  return vgetq_lane_f32(sums[0], 0);
}

float int8(int64_t n_rounds) {
  int32x4_t sums[kLongChains];
  for (auto& sum : sums) sum = vdupq_n_s32(0);
  PARLANCE_KEEP_APART(sums, "+w");
  int8x16_t a = vdupq_n_s8(1);
  const int8x16_t b = vdupq_n_s8(2);
  for (int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 8
    for (int j = 0; j < kLongChains; ++j) {
      PARLANCE_OPAQUE(a, "+w");
      const int16x8_t products = vmull_s8(vget_low_s8(a), vget_low_s8(b));
      sums[j] = vpadalq_s16(sums[j], vmlal_high_s8(products, a, b));
    }
  }
  for (int j = 1; j < kLongChains; ++j) sums[0] = vaddq_s32(sums[0], sums[j]);
  return static_cast<float>(vgetq_lane_s32(sums[0], 0));
}

PARLANCE_NEON_DOTPROD float int8_dotprod(int64_t n_rounds) {
  int32x4_t sums[kChains];
  for (auto& sum : sums) sum = vdupq_n_s32(0);
  PARLANCE_KEEP_APART(sums, "+w");
  int8x16_t a = vdupq_n_s8(1);
  const int8x16_t b = vdupq_n_s8(2);
  for (int64_t round = 0; round < n_rounds; ++round) {
    PARLANCE_OPAQUE(a, "+w");
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sums[j] = vdotq_s32(sums[j], a, b);
  }
  for (int j = 1; j < kChains; ++j) sums[0] = vaddq_s32(sums[0], sums[j]);
  return static_cast<float>(vgetq_lane_s32(sums[0], 0));
}

PARLANCE_NEON_I8MM float int8_i8mm(int64_t n_rounds) {
  int32x4_t sums[kChains];
  for (auto& sum : sums) sum = vdupq_n_s32(0);
  PARLANCE_KEEP_APART(sums, "+w");
  int8x16_t a = vdupq_n_s8(1);
  const int8x16_t b = vdupq_n_s8(2);
  for (int64_t round = 0; round < n_rounds; ++round) {
    PARLANCE_OPAQUE(a, "+w");
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) sums[j] = vmmlaq_s32(sums[j], a, b);
  }
  for (int j = 1; j < kChains; ++j) sums[0] = vaddq_s32(sums[0], sums[j]);
  return static_cast<float>(vgetq_lane_s32(sums[0], 0));
}

constexpr RooflineLoops kLoops = {read, {f32, 2 * 4 * kChains}, {int8, 2 * 16 * kLongChains}};
constexpr RooflineLoops kLoopsDotprod = {read, {f32, 2 * 4 * kChains}, {int8_dotprod, 2 * 16 * kChains}};
constexpr RooflineLoops kLoopsI8mm = {read, {f32, 2 * 4 * kChains}, {int8_i8mm, 2 * 32 * kChains}};

}  // namespace neon

#endif  // PARLANCE_NEON

}  // namespace

const RooflineLoops& roofline_loops(Isa isa) {
  switch (isa) {
#ifdef PARLANCE_X86
    case Isa::avx2:
      return avx2::kLoops;
    case Isa::avx512:
      return avx512::kLoops;
    case Isa::avx512_bf16:
      return avx512::kLoopsBf16;
    case Isa::avx512_amx:
      return amx::kLoops;
#endif
#ifdef PARLANCE_NEON
    case Isa::neon:
      return neon::kLoops;
    case Isa::neon_dotprod:
      return neon::kLoopsDotprod;
    case Isa::neon_i8mm:
      return neon::kLoopsI8mm;
#endif
    default:
      return scalar::kLoops;
  }
}

}  // namespace parlance
