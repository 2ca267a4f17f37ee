// gemv with AVX-512 for the formats with 32 values in a block, four blocks at a time.
#include "kernels/cpu/matmul/avx512/gemv.h"

#ifdef PARLANCE_X86

#include "quant/iq4_nl.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q8_0.h"

namespace parlance::matmul::avx512 {

namespace {

// Words (16 bits) of a group of four blocks, by number. The group is read as two overlapping vectors; the
// second one ends where the group ends.
template <class Block>
struct FourBlocks {
  static constexpr int kBytes = 4 * sizeof(Block);
  static constexpr int kSecond = kBytes - 64;  // where the second vector starts

  __m512i first, second;

  INLINE_AVX512 explicit FourBlocks(const std::byte* group)
      : first(_mm512_loadu_si512(group)), second(_mm512_loadu_si512(group + kSecond)) {}

  // For permutex2var: which word of the pair of vectors is the word at byte `offset` of block `b`.
  static constexpr int16_t word(int b, int offset) {
    const int byte = b * static_cast<int>(sizeof(Block)) + offset;
    return static_cast<int16_t>(byte < 64 ? byte / 2 : 32 + (byte - kSecond) / 2);
  }

  INLINE_AVX512 __m512i words(const int16_t* which) const {
    return _mm512_permutex2var_epi16(first, _mm512_load_si512(which), second);
  }
};

// Lane b: 16 bytes of block b.
template <class Block, int kOffset>
struct SixteenBytesOfEach {
  alignas(64) static constexpr std::array<int16_t, 32> kWords = [] {
    std::array<int16_t, 32> words{};
    for (int i = 0; i < 32; ++i) words[i] = FourBlocks<Block>::word(i / 8, kOffset + 2 * (i % 8));
    return words;
  }();
};

// Word 4 * i + b: the i-th word of the head of block b.
template <class Block>
struct HeadOfEach {
  alignas(64) static constexpr std::array<int16_t, 32> kWords = [] {
    std::array<int16_t, 32> words{};
    for (int i = 0; i < 16; ++i) words[i] = FourBlocks<Block>::word(i % 4, 2 * (i / 4));
    return words;
  }();
};

alignas(64) constexpr int32_t kLanesByFour[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
alignas(64) constexpr int32_t kLanesByEight[2][16] = {{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
                                                      {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}};

// Activations for x = d * (code - kZero): the offset is d * -kZero.
template <int kZero>
struct AroundZero {
  using Lanes = __m128;
  INLINE_AVX512 static __m128 x_steps(const RowActivations& x, int64_t group) {
    return _mm_loadu_ps(x.steps + 4 * group);
  }
  INLINE_AVX512 static __m128 x_sums(const RowActivations& x, int64_t group) {
    return _mm_mul_ps(_mm_loadu_ps(x.sums + 4 * group), _mm_set1_ps(-kZero));
  }
};

// Activations for x = d * code + m: lanes 0..3 are for d, 4..7 for m.
struct AboveMinimum {
  using Lanes = __m256;
  INLINE_AVX512 static __m256 x_steps(const RowActivations& x, int64_t group) {
    return _mm256_zextps128_ps256(_mm_loadu_ps(x.steps + 4 * group));
  }
  INLINE_AVX512 static __m256 x_sums(const RowActivations& x, int64_t group) {
    return _mm256_insertf128_ps(_mm256_setzero_ps(), _mm_loadu_ps(x.sums + 4 * group), 1);
  }
};

template <class Block>
struct NibbleBlocks {
  static constexpr int64_t kValues = 128;
  static constexpr int64_t kBytes = FourBlocks<Block>::kBytes;
  static constexpr Order kOrder = Order::halves_of_32;
  static constexpr int kVectors = 2;
  static constexpr int kVectorsPerStep = 2;
  INLINE_AVX512 static __m512i step_lanes(int) { return _mm512_load_si512(kLanesByFour); }

  template <int kOffset>
  INLINE_AVX512 static void nibbles(const FourBlocks<Block>& blocks, __m512i (&u)[2]) {
    const __m512i bytes = blocks.words(SixteenBytesOfEach<Block, kOffset>::kWords.data());
    const __m512i mask = _mm512_set1_epi8(15);
    u[0] = _mm512_and_si512(bytes, mask);
    u[1] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask);
  }

  INLINE_AVX512 static __m256i head(const FourBlocks<Block>& blocks) {
    return _mm512_castsi512_si256(blocks.words(HeadOfEach<Block>::kWords.data()));
  }

  // The fifth bits are words kWord and kWord + 1 of the head: bits of the first and of the last 16 values.
  template <int kWord>
  INLINE_AVX512 static void add_fifth_bits(__m256i head, __m512i (&u)[2]) {
    const __m512i bit = _mm512_set1_epi8(16);
    const auto low = static_cast<__mmask64>(_mm256_extract_epi64(head, kWord));
    const auto high = static_cast<__mmask64>(_mm256_extract_epi64(head, kWord + 1));
    u[0] = _mm512_mask_add_epi8(u[0], low, u[0], bit);
    u[1] = _mm512_mask_add_epi8(u[1], high, u[1], bit);
  }
};

struct Q4_0 : NibbleBlocks<BlockQ4_0>, AroundZero<8> {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[2]) {
    nibbles<offsetof(BlockQ4_0, q)>(FourBlocks<BlockQ4_0>(group), u);
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m128& step, __m128& offset) {
    step = _mm_cvtph_ps(_mm256_castsi256_si128(head(FourBlocks<BlockQ4_0>(group))));
    offset = step;
  }
};

struct Iq4Nl : NibbleBlocks<BlockIq4Nl>, AroundZero<128> {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[2]) {
    nibbles<offsetof(BlockIq4Nl, q)>(FourBlocks<BlockIq4Nl>(group), u);
    const __m512i table = iq4_table();
    u[0] = _mm512_shuffle_epi8(table, u[0]);
    u[1] = _mm512_shuffle_epi8(table, u[1]);
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m128& step, __m128& offset) {
    step = _mm_cvtph_ps(_mm256_castsi256_si128(head(FourBlocks<BlockIq4Nl>(group))));
    offset = step;
  }
};

struct Q4_1 : NibbleBlocks<BlockQ4_1>, AboveMinimum {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[2]) {
    nibbles<offsetof(BlockQ4_1, q)>(FourBlocks<BlockQ4_1>(group), u);
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m256& step, __m256& offset) {
    step = _mm256_cvtph_ps(_mm256_castsi256_si128(head(FourBlocks<BlockQ4_1>(group))));
    offset = step;
  }
};

struct Q5_0 : NibbleBlocks<BlockQ5_0>, AroundZero<16> {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[2]) {
    const FourBlocks<BlockQ5_0> blocks(group);
    nibbles<offsetof(BlockQ5_0, q)>(blocks, u);
    add_fifth_bits<1>(head(blocks), u);
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m128& step, __m128& offset) {
    step = _mm_cvtph_ps(_mm256_castsi256_si128(head(FourBlocks<BlockQ5_0>(group))));
    offset = step;
  }
};

struct Q5_1 : NibbleBlocks<BlockQ5_1>, AboveMinimum {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[2]) {
    const FourBlocks<BlockQ5_1> blocks(group);
    nibbles<offsetof(BlockQ5_1, q)>(blocks, u);
    add_fifth_bits<2>(head(blocks), u);
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m256& step, __m256& offset) {
    step = _mm256_cvtph_ps(_mm256_castsi256_si128(head(FourBlocks<BlockQ5_1>(group))));
    offset = step;
  }
};

// Bytes as they are, each moved up by 128.
struct Q8_0 : AroundZero<128> {
  static constexpr int64_t kValues = 128;
  static constexpr int64_t kBytes = 4 * sizeof(BlockQ8_0);
  static constexpr Order kOrder = Order::natural;
  static constexpr int kVectors = 2;
  static constexpr int kVectorsPerStep = 1;
  INLINE_AVX512 static __m512i step_lanes(int i) { return _mm512_load_si512(kLanesByEight[i]); }

  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[2]) {
    const auto* block = reinterpret_cast<const BlockQ8_0*>(group);
    for (int i = 0; i < 2; ++i) {
      const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block[2 * i].q));
      const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block[2 * i + 1].q));
      const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
      u[i] = _mm512_xor_si512(both, _mm512_set1_epi8(-128));
    }
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m128& step, __m128& offset) {
    const auto* block = reinterpret_cast<const BlockQ8_0*>(group);
    __m128i halves = _mm_cvtsi32_si128(block[0].d);
    halves = _mm_insert_epi16(halves, block[1].d, 1);
    halves = _mm_insert_epi16(halves, block[2].d, 2);
    halves = _mm_insert_epi16(halves, block[3].d, 3);
    step = _mm_cvtph_ps(halves);
    offset = step;
  }
};

}  // namespace

PARLANCE_AVX512 void gemv_q8_0(const GemvArgs& args) {
  gemv<Q8_0>(args);
}
PARLANCE_AVX512 void gemv_q4_0(const GemvArgs& args) {
  gemv<Q4_0>(args);
}
PARLANCE_AVX512 void gemv_q4_1(const GemvArgs& args) {
  gemv<Q4_1>(args);
}
PARLANCE_AVX512 void gemv_q5_0(const GemvArgs& args) {
  gemv<Q5_0>(args);
}
PARLANCE_AVX512 void gemv_q5_1(const GemvArgs& args) {
  gemv<Q5_1>(args);
}
PARLANCE_AVX512 void gemv_iq4_nl(const GemvArgs& args) {
  gemv<Iq4Nl>(args);
}

}  // namespace parlance::matmul::avx512

#endif
