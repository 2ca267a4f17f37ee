// gemv with AVX-512 for the formats with 256 values in a block.
#include "kernels/cpu/matmul/avx512/gemv.h"

#ifdef PARLANCE_X86

#include "quant/iq4_xs.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_k.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"

namespace parlance::matmul::avx512 {

namespace {

INLINE_AVX512 __m512i load(const void* bytes) {
  return _mm512_loadu_si512(bytes);
}
INLINE_AVX512 __m128i load16(const void* bytes) {
  return _mm_loadu_si128(static_cast<const __m128i*>(bytes));
}
// The same 32 bytes in both halves.
INLINE_AVX512 __m512i load32_twice(const void* bytes) {
  return _mm512_broadcast_i64x4(_mm256_loadu_si256(static_cast<const __m256i*>(bytes)));
}
// `low` in every byte of the lower half, `high` in the upper half.
INLINE_AVX512 __m512i halves(int low, int high) {
  return _mm512_inserti64x4(_mm512_set1_epi8(static_cast<char>(low)),
                            _mm256_set1_epi8(static_cast<char>(high)), 1);
}
INLINE_AVX512 __m512i word_halves(int low, int high) {
  return _mm512_inserti64x4(_mm512_set1_epi16(static_cast<short>(low)),
                            _mm256_set1_epi16(static_cast<short>(high)), 1);
}
INLINE_AVX512 __m128 f32_of(f16_bits half) {
  return _mm_cvtph_ps(_mm_cvtsi32_si128(half));
}

template <class Block>
struct KBlock {
  static constexpr int64_t kValues = 256;
  static constexpr int64_t kBytes = sizeof(Block);
  static constexpr int kVectors = 4;
  static constexpr int kVectorsPerStep = 1;
  INLINE_AVX512 static const Block& block(const std::byte* group) {
    return *reinterpret_cast<const Block*>(group);
  }
};

// Q4_K and Q5_K: lanes 0..7 are the steps of the runs, 8..15 their minimums.
template <class Block>
struct KRunsWithMinimums : KBlock<Block> {
  static constexpr Order kOrder = Order::pairs_of_32;
  using Lanes = __m512;

  INLINE_AVX512 static __m512i step_lanes(int i) {
    alignas(64) static constexpr int32_t kLanes[4][16] = {{0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2},
                                                          {1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3},
                                                          {4, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6, 6, 6},
                                                          {5, 5, 5, 5, 5, 5, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7}};
    return _mm512_load_si512(kLanes[i]);
  }

  // Lanes 0..7 of 32 bits hold the steps as bytes, then the minimums; see unpack_k_scales().
  INLINE_AVX512 static void steps(const std::byte* group, __m512& step, __m512& offset) {
    const Block& b = KBlock<Block>::block(group);
    const __m128i head = load16(&b);  // d and dmin, then the twelve bytes
    const __m128i own =
        _mm_and_si128(_mm_srlv_epi32(_mm_shuffle_epi32(head, 0b11'10'11'01), _mm_setr_epi32(0, 0, 0, 4)),
                      _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
    const __m128i top = _mm_and_si128(_mm_srli_epi32(_mm_shuffle_epi32(head, 0b10'00'01'00), 2),
                                      _mm_setr_epi32(0, 0x30303030, 0, 0x30303030));
    const __m512 codes = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_or_si128(own, top)));
    const __m512 d = _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
                                           _mm512_castps128_ps512(_mm_cvtph_ps(head)));
    step = _mm512_mul_ps(codes, d);
    offset = step;
  }

  INLINE_AVX512 static __m512 x_steps(const RowActivations& x, int64_t group) {
    return _mm512_zextps256_ps512(_mm256_loadu_ps(x.steps + 8 * group));
  }
  INLINE_AVX512 static __m512 x_sums(const RowActivations& x, int64_t group) {
    const __m256 minus = _mm256_sub_ps(_mm256_setzero_ps(), _mm256_loadu_ps(x.sums + 8 * group));
    return _mm512_insertf32x8(_mm512_setzero_ps(), minus, 1);
  }

  INLINE_AVX512 static void nibbles(const uint8_t* q, __m512i (&u)[4]) {
    const __m512i mask = _mm512_set1_epi8(15);
    for (int i = 0; i < 2; ++i) {
      const __m512i bytes = load(q + 64 * i);
      u[2 * i] = _mm512_and_si512(bytes, mask);
      u[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask);
    }
  }
};

struct Q4K : KRunsWithMinimums<BlockQ4K> {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[4]) { nibbles(block(group).q, u); }
};

struct Q5K : KRunsWithMinimums<BlockQ5K> {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[4]) {
    nibbles(block(group).q, u);
    const __m512i high = load32_twice(block(group).high);
    const __m512i bit = _mm512_set1_epi8(16);
    for (int i = 0; i < 4; ++i) {
      const int run = 4 * (i / 2) + i % 2;  // in the lower half; run + 2 is in the upper
      const __mmask64 set = _mm512_test_epi8_mask(high, halves(1 << run, 4 << run));
      u[i] = _mm512_mask_add_epi8(u[i], set, u[i], bit);
    }
  }
};

// Formats with a step for each group of 16 values, x = step * (code - kZero).
template <class Block, int kZero>
struct SixteenGroups : KBlock<Block> {
  using Lanes = __m512;
  INLINE_AVX512 static __m512 x_steps(const RowActivations& x, int64_t group) {
    return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7),
                                 _mm512_castps256_ps512(_mm256_loadu_ps(x.steps + 8 * group)));
  }
  INLINE_AVX512 static __m512 x_sums(const RowActivations& x, int64_t group) {
    return _mm512_mul_ps(_mm512_loadu_ps(x.half_sums + 16 * group), _mm512_set1_ps(-kZero));
  }
};

struct Q6K : SixteenGroups<BlockQ6K, 32> {
  static constexpr Order kOrder = Order::natural;

  INLINE_AVX512 static __m512i step_lanes(int i) {
    alignas(64) static constexpr int32_t kLanes[4][16] = {
        {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3},
        {4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7},
        {8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 11, 11, 11, 11},
        {12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15}};
    return _mm512_load_si512(kLanes[i]);
  }
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[4]) {
    const __m512i low_mask = _mm512_set1_epi8(15), high_mask = _mm512_set1_epi8(0x30);
    for (int h = 0; h < 2; ++h) {
      const __m512i low = load(block(group).low + 64 * h);
      const __m512i high = load32_twice(block(group).high + 32 * h);
      const __m512i high0 = _mm512_and_si512(_mm512_sllv_epi16(high, word_halves(4, 2)), high_mask);
      const __m512i high1 = _mm512_and_si512(_mm512_srlv_epi16(high, word_halves(0, 2)), high_mask);
      u[2 * h] = _mm512_or_si512(_mm512_and_si512(low, low_mask), high0);
      u[2 * h + 1] = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(low, 4), low_mask), high1);
    }
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m512& step, __m512& offset) {
    const __m512 codes = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(block(group).scales)));
    step = _mm512_mul_ps(codes, _mm512_broadcastss_ps(f32_of(block(group).d)));
    offset = step;
  }
};

// Q2_K and Q3_K: vector k holds values 32 * k .. and 128 + 32 * k .., bits 2 * k .. of the 64 bytes.
template <class Block, int kZero>
struct TwoBits : SixteenGroups<Block, kZero> {
  static constexpr Order kOrder = Order::halves_of_256;

  INLINE_AVX512 static __m512i step_lanes(int i) {
    alignas(64) static constexpr int32_t kLanes[4][16] = {
        {0, 0, 0, 0, 1, 1, 1, 1, 8, 8, 8, 8, 9, 9, 9, 9},
        {2, 2, 2, 2, 3, 3, 3, 3, 10, 10, 10, 10, 11, 11, 11, 11},
        {4, 4, 4, 4, 5, 5, 5, 5, 12, 12, 12, 12, 13, 13, 13, 13},
        {6, 6, 6, 6, 7, 7, 7, 7, 14, 14, 14, 14, 15, 15, 15, 15}};
    return _mm512_load_si512(kLanes[i]);
  }
  INLINE_AVX512 static void two_bits(const uint8_t* q, __m512i (&u)[4]) {
    const __m512i bytes = load(q), mask = _mm512_set1_epi8(3);
    u[0] = _mm512_and_si512(bytes, mask);
    u[1] = _mm512_and_si512(_mm512_srli_epi16(bytes, 2), mask);
    u[2] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask);
    u[3] = _mm512_and_si512(_mm512_srli_epi16(bytes, 6), mask);
  }
};

struct Q2K : TwoBits<BlockQ2K, 1> {  // the "zero" is the minimum, subtracted as it is
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[4]) { two_bits(block(group).q, u); }
  INLINE_AVX512 static void steps(const std::byte* group, __m512& step, __m512& offset) {
    const __m128i both = load16(block(group).scales), mask = _mm_set1_epi8(15);
    const __m128i minimums = _mm_and_si128(_mm_srli_epi16(both, 4), mask);
    step = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_and_si128(both, mask))),
                         _mm512_broadcastss_ps(f32_of(block(group).d)));
    offset = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(minimums)),
                           _mm512_broadcastss_ps(f32_of(block(group).dmin)));
  }
};

struct Q3K : TwoBits<BlockQ3K, 4> {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[4]) {
    two_bits(block(group).q, u);
    const __m512i high = load32_twice(block(group).high), bit = _mm512_set1_epi8(4);
    for (int k = 0; k < 4; ++k) {
      const __mmask64 set = _mm512_test_epi8_mask(high, halves(1 << k, 16 << k));
      u[k] = _mm512_mask_add_epi8(u[k], set, u[k], bit);
    }
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m512& step, __m512& offset) {
    const uint8_t* scales = block(group).scales;
    const __m128i low8 = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales));
    const __m128i low = _mm_and_si128(_mm_unpacklo_epi64(low8, _mm_srli_epi16(low8, 4)), _mm_set1_epi8(15));
    int32_t high_bits;
    std::memcpy(&high_bits, scales + 8, sizeof(high_bits));
    const __m128i high = _mm_and_si128(_mm_srlv_epi32(_mm_set1_epi32(high_bits), _mm_setr_epi32(0, 2, 4, 6)),
                                       _mm_set1_epi8(3));
    const __m128i codes = _mm_sub_epi8(_mm_or_si128(low, _mm_slli_epi16(high, 4)), _mm_set1_epi8(32));
    step = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes)),
                         _mm512_broadcastss_ps(f32_of(block(group).d)));
    offset = step;
  }
};

struct Iq4Xs : KBlock<BlockIq4Xs> {
  static constexpr Order kOrder = Order::halves_of_32;
  static constexpr int kVectorsPerStep = 2;
  using Lanes = __m256;

  INLINE_AVX512 static __m512i step_lanes(int i) {
    alignas(64) static constexpr int32_t kLanes[2][16] = {{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3},
                                                          {4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7}};
    return _mm512_load_si512(kLanes[i]);
  }
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[4]) {
    const __m512i table = iq4_table(), mask = _mm512_set1_epi8(15);
    for (int i = 0; i < 2; ++i) {
      const __m512i bytes = load(block(group).q + 64 * i);
      u[2 * i] = _mm512_shuffle_epi8(table, _mm512_and_si512(bytes, mask));
      u[2 * i + 1] = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask));
    }
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m256& step, __m256& offset) {
    int32_t low_bits;
    std::memcpy(&low_bits, block(group).scales_low, sizeof(low_bits));
    const __m256i low =
        _mm256_srlv_epi32(_mm256_set1_epi32(low_bits), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    const __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(block(group).scales_high),
                                           _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
    const __m256i codes = _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                                          _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4));
    step = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(codes, _mm256_set1_epi32(32))),
                         _mm256_broadcastss_ps(f32_of(block(group).d)));
    offset = step;
  }
  INLINE_AVX512 static __m256 x_steps(const RowActivations& x, int64_t group) {
    return _mm256_loadu_ps(x.steps + 8 * group);
  }
  INLINE_AVX512 static __m256 x_sums(const RowActivations& x, int64_t group) {
    return _mm256_mul_ps(_mm256_loadu_ps(x.sums + 8 * group), _mm256_set1_ps(-128));
  }
};

}  // namespace

PARLANCE_AVX512 void gemv_q2_k(const GemvArgs& args) {
  gemv<Q2K>(args);
}
PARLANCE_AVX512 void gemv_q3_k(const GemvArgs& args) {
  gemv<Q3K>(args);
}
PARLANCE_AVX512 void gemv_q4_k(const GemvArgs& args) {
  gemv<Q4K>(args);
}
PARLANCE_AVX512 void gemv_q5_k(const GemvArgs& args) {
  gemv<Q5K>(args);
}
PARLANCE_AVX512 void gemv_q6_k(const GemvArgs& args) {
  gemv<Q6K>(args);
}
PARLANCE_AVX512 void gemv_iq4_xs(const GemvArgs& args) {
  gemv<Iq4Xs>(args);
}

}  // namespace parlance::matmul::avx512

#endif
