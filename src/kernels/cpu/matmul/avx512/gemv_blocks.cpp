// gemv with AVX-512 for the formats with 32 values in a block: a group is four blocks of four rows.
#include "kernels/cpu/matmul/avx512/gemv_runs.h"
#include "kernels/cpu/simd/transpose_words.h"

#ifdef PARLANCE_X86

#include "quant/iq4_nl.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q8_0.h"

namespace parlance::matmul::avx512 {

namespace {

// Sixteen bytes of four blocks of four rows: vector k holds bytes 4 k .. of run i of row r in lane 4 r + i.
template <class Block, size_t kOffset>
INLINE_AVX512 void pieces(const FourRows& rows, __m512i (&w)[4]) {
  for (size_t b = 0; b < 4; ++b) {
    const size_t at = b * sizeof(Block) + kOffset;
    w[b] = _mm512_castsi128_si512(load16(rows[0] + at));
    w[b] = _mm512_mask_broadcast_i32x4(w[b], 0x00f0, load16(rows[1] + at));
    w[b] = _mm512_mask_broadcast_i32x4(w[b], 0x0f00, load16(rows[2] + at));
    w[b] = _mm512_mask_broadcast_i32x4(w[b], 0xf000, load16(rows[3] + at));
  }
  simd::transpose_words(w);
}

// Whether word `word` of each of four blocks is within the 64 bytes of a vector.
template <class Block>
constexpr bool is_near(int word) {
  return 3 * static_cast<int>(sizeof(Block)) + 2 * word + 2 <= 64;
}

// Word kWord of four blocks of four rows, such as their steps.
template <class Block, int kWord>
requires(is_near<Block>(kWord)) INLINE_AVX512 __m512 halves_of_heads(const FourRows& rows) {
  static constexpr LaneTable<int16_t, 32> kWords(
      [](int i) { return i % 4 * static_cast<int>(sizeof(Block)) / 2 + kWord; });
  __m512i halves = _mm512_setzero_si512();
  for (int r = 0; r < 4; ++r) {
    halves = _mm512_mask_permutexvar_epi16(halves, 0xfu << (4 * r), kWords, load(rows[r]));
  }
  return _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
}

// Where the heads of four neighbouring blocks are read: in two vectors, of which the second one starts at
// kSecond.
template <class Block, int kFirst, int kSecond>
struct FourBlocks {
  __m512i first, second;

  INLINE_AVX512 FourBlocks() {}
  INLINE_AVX512 explicit FourBlocks(const std::byte* blocks)
      : first(load(blocks + kFirst)), second(load(blocks + kSecond)) {}

  // For permutex2var: the number of the word (16 bits) at byte `offset` of block b.
  static constexpr int word(int b, int offset) {
    const int byte = b * static_cast<int>(sizeof(Block)) + offset;
    return byte + 2 <= kFirst + 64 ? (byte - kFirst) / 2 : 32 + (byte - kSecond) / 2;
  }

  // 64 bits i: word i of the four blocks' heads.
  INLINE_AVX512 __m256i heads() const {
    static constexpr LaneTable<int16_t, 32> kWords(
        [](int i) { return i < 16 ? word(i % 4, 2 * (i / 4)) : 0; });
    return _mm512_castsi512_si256(_mm512_permutex2var_epi16(first, kWords, second));
  }
};

// Word kWord of the heads of four rows' blocks.
template <int kWord>
INLINE_AVX512 __m256i words_of_heads(const __m256i (&heads)[4]) {
  const __m256i low =
      kWord % 2 ? _mm256_unpackhi_epi64(heads[0], heads[1]) : _mm256_unpacklo_epi64(heads[0], heads[1]);
  const __m256i high =
      kWord % 2 ? _mm256_unpackhi_epi64(heads[2], heads[3]) : _mm256_unpacklo_epi64(heads[2], heads[3]);
  return _mm256_permute2x128_si256(low, high, kWord < 2 ? 0x20 : 0x31);
}

template <class Block>
struct BlocksOfRows {
  static constexpr int64_t kValues = 128;
  static constexpr int64_t kBytes = 4 * sizeof(Block);
  static constexpr Order kOrder = Order::by_runs;
  static constexpr int kFours = 1;
  static constexpr int kVectors = 8;  // vector p: piece p of every run

  static constexpr int kTileTokens = 4;

  template <int kGroups, int kTokens>
  INLINE_AVX512 static void multiply(const __m512i (&u)[kGroups][8], const int8_t* const (&x)[kTokens],
                                     __m512i (&products)[kTokens][kGroups][1]) {
    for (int v = 0; v < 8; ++v) {
      for (int t = 0; t < kTokens; ++t) {
        const __m512i piece = _mm512_broadcast_i32x4(load16(x[t] + 16 * v));
        for (int g = 0; g < kGroups; ++g) {
          products[t][g][0] = _mm512_dpbusd_epi32(products[t][g][0], u[g][v], piece);
        }
      }
    }
  }
};

template <class Block>
struct NibbleBlocks : BlocksOfRows<Block> {
  using Four = FourBlocks<Block, 0, 4 * sizeof(Block) - 64>;

  INLINE_AVX512 static void nibbles(const FourRows& rows, __m512i (&u)[8]) {
    __m512i w[4];
    pieces<Block, offsetof(Block, q)>(rows, w);
    const __m512i mask = _mm512_set1_epi8(15);
    for (int i = 0; i < 4; ++i) {
      u[i] = _mm512_and_si512(w[i], mask);
      u[4 + i] = _mm512_and_si512(_mm512_srli_epi16(w[i], 4), mask);
    }
  }

  INLINE_AVX512 static void heads(const FourRows& rows, __m256i (&heads)[4]) {
    for (int r = 0; r < 4; ++r) heads[r] = Four(rows[r]).heads();
  }
  template <int kWord>
  INLINE_AVX512 static __m256i head_words(const FourRows& rows) {
    __m256i all[4];
    heads(rows, all);
    return words_of_heads<kWord>(all);
  }

  template <int kWord>
  INLINE_AVX512 static __m512 halves(const FourRows& rows) {
    if constexpr (is_near<Block>(kWord)) {
      return halves_of_heads<Block, kWord>(rows);
    } else {
      return _mm512_cvtph_ps(head_words<kWord>(rows));
    }
  }

  // The fifth bits of values 0..15 are word kWord of a block's head, those of 16..31 the next one.
  template <int kWord>
  INLINE_AVX512 static void add_fifth_bits(const FourRows& rows, __m512i (&u)[8]) {
    const __m512i both[2] = {_mm512_cvtepu16_epi32(head_words<kWord>(rows)),
                             _mm512_cvtepu16_epi32(head_words<kWord + 1>(rows))};
    const __m512i bit = _mm512_set1_epi8(16);
    const __m512i own_bits[2] = {_mm512_set1_epi32(0x08040201),
                                 _mm512_set1_epi32(static_cast<int>(0x80402010))};
    for (int v = 0; v < 8; ++v) {  // byte v / 2 of the four bytes, in all bytes of its lane
      static constexpr LaneTable<int8_t, 64> kBytes[2] = {
          LaneTable<int8_t, 64>([](int i) { return i % 16 / 4 * 4; }),
          LaneTable<int8_t, 64>([](int i) { return i % 16 / 4 * 4 + 1; })};
      const __m512i byte = _mm512_shuffle_epi8(both[v / 4], kBytes[v / 2 % 2]);
      u[v] = _mm512_mask_add_epi8(u[v], _mm512_test_epi8_mask(byte, own_bits[v % 2]), u[v], bit);
    }
  }
};

// x = d * (code - zero)
template <class Block, int zero>
struct NibblesAroundZero : NibbleBlocks<Block> {
  static constexpr int kZero = zero;
  INLINE_AVX512 static void steps(const FourRows& rows, __m512 (&step)[1], __m512 (&)[1]) {
    step[0] = NibbleBlocks<Block>::template halves<0>(rows);
  }
};

// x = d * code + m
template <class Block>
struct NibblesAboveMinimum : NibbleBlocks<Block> {
  static constexpr int kZero = 0;
  INLINE_AVX512 static void steps(const FourRows& rows, __m512 (&step)[1], __m512 (&offset)[1]) {
    step[0] = NibbleBlocks<Block>::template halves<0>(rows);
    offset[0] = NibbleBlocks<Block>::template halves<1>(rows);
  }
};

struct Q4_0 : NibblesAroundZero<BlockQ4_0, 8> {
  INLINE_AVX512 static void codes(const FourRows& rows, __m512i (&u)[8]) { nibbles(rows, u); }
};

struct Iq4Nl : NibblesAroundZero<BlockIq4Nl, 128> {
  INLINE_AVX512 static void codes(const FourRows& rows, __m512i (&u)[8]) {
    nibbles(rows, u);
    const __m512i table = iq4_table();
    for (__m512i& codes : u) codes = _mm512_shuffle_epi8(table, codes);
  }
};

struct Q4_1 : NibblesAboveMinimum<BlockQ4_1> {
  INLINE_AVX512 static void codes(const FourRows& rows, __m512i (&u)[8]) { nibbles(rows, u); }
};

struct Q5_0 : NibblesAroundZero<BlockQ5_0, 16> {
  INLINE_AVX512 static void codes(const FourRows& rows, __m512i (&u)[8]) {
    nibbles(rows, u);
    add_fifth_bits<1>(rows, u);
  }
};

struct Q5_1 : NibblesAboveMinimum<BlockQ5_1> {
  INLINE_AVX512 static void codes(const FourRows& rows, __m512i (&u)[8]) {
    nibbles(rows, u);
    add_fifth_bits<2>(rows, u);
  }
};

// Bytes as they are, each moved up by 128.
struct Q8_0 : BlocksOfRows<BlockQ8_0> {
  static constexpr int kZero = 128;
  using Heads = FourBlocks<BlockQ8_0, 0, kBytes - 16 - 64>;

  INLINE_AVX512 static void codes(const FourRows& rows, __m512i (&u)[8]) {
    __m512i first[4], second[4];
    pieces<BlockQ8_0, offsetof(BlockQ8_0, q)>(rows, first);
    pieces<BlockQ8_0, offsetof(BlockQ8_0, q) + 16>(rows, second);
    for (int k = 0; k < 4; ++k) {
      u[k] = first[k];
      u[4 + k] = second[k];
    }
    for (__m512i& codes : u) codes = _mm512_xor_si512(codes, _mm512_set1_epi8(-128));
  }
  INLINE_AVX512 static void steps(const FourRows& rows, __m512 (&step)[1], __m512 (&)[1]) {
    __m256i heads[4];
    for (int r = 0; r < 4; ++r) heads[r] = Heads(rows[r]).heads();
    step[0] = _mm512_cvtph_ps(words_of_heads<0>(heads));
  }
};

}  // namespace

PARLANCE_AVX512 void gemv_q8_0(const GemvArgs& args) {
  gemv_runs<Q8_0>(args);
}
PARLANCE_AVX512 void gemv_q4_0(const GemvArgs& args) {
  gemv_runs<Q4_0>(args);
}
PARLANCE_AVX512 void gemv_q4_1(const GemvArgs& args) {
  gemv_runs<Q4_1>(args);
}
PARLANCE_AVX512 void gemv_q5_0(const GemvArgs& args) {
  gemv_runs<Q5_0>(args);
}
PARLANCE_AVX512 void gemv_q5_1(const GemvArgs& args) {
  gemv_runs<Q5_1>(args);
}
PARLANCE_AVX512 void gemv_iq4_nl(const GemvArgs& args) {
  gemv_runs<Iq4Nl>(args);
}

}  // namespace parlance::matmul::avx512

#endif
