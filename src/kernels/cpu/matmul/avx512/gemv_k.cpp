// gemv with AVX-512 for the formats with 256 values in a block: lane l of a block is half run l, 16 values.
// Each vector of codes takes one word of 32 bits for every lane from the block's bytes; which one, and where
// in its bytes the lane's bits are, is in tables.
#include "kernels/cpu/matmul/avx512/gemv_half_runs.h"
#include "kernels/cpu/matmul/avx512/gemv_runs.h"

#ifdef PARLANCE_X86

#include "quant/iq4_xs.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_k.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"

namespace parlance::matmul::avx512 {

namespace {

// 128 bits k of w[i] to 128 bits i of the result's vector k.
INLINE_AVX512 void transpose_quarters(const __m512i (&w)[4], __m512i* transposed) {
  const __m512i low01 = _mm512_shuffle_i32x4(w[0], w[1], 0b01'00'01'00);
  const __m512i low23 = _mm512_shuffle_i32x4(w[2], w[3], 0b01'00'01'00);
  const __m512i high01 = _mm512_shuffle_i32x4(w[0], w[1], 0b11'10'11'10);
  const __m512i high23 = _mm512_shuffle_i32x4(w[2], w[3], 0b11'10'11'10);
  transposed[0] = _mm512_shuffle_i32x4(low01, low23, 0b10'00'10'00);
  transposed[1] = _mm512_shuffle_i32x4(low01, low23, 0b11'01'11'01);
  transposed[2] = _mm512_shuffle_i32x4(high01, high23, 0b10'00'10'00);
  transposed[3] = _mm512_shuffle_i32x4(high01, high23, 0b11'01'11'01);
}

using Lanes32 = LaneTable<int32_t, 16>;
using Words = std::array<Lanes32, 4>;  // numbers of words, for each vector of codes

// The first vector takes word first(lane), the next ones the words that follow.
template <class First>
constexpr Words words_from(First first) {
  return {Lanes32(first), Lanes32([=](int lane) { return first(lane) + 1; }),
          Lanes32([=](int lane) { return first(lane) + 2; }),
          Lanes32([=](int lane) { return first(lane) + 3; })};
}

// Codes from 64 or 128 bytes: bits shifts(lane) .. of each byte, as many as `mask` has.
INLINE_AVX512 void take_codes(__m512i bytes, const Words& words, const Lanes32& shifts, int mask,
                              __m512i* u) {
  for (int i = 0; i < 4; ++i) {
    const __m512i own = _mm512_srlv_epi32(_mm512_permutexvar_epi32(words[i], bytes), shifts);
    u[i] = _mm512_and_si512(own, _mm512_set1_epi8(static_cast<char>(mask)));
  }
}
INLINE_AVX512 void take_codes(__m512i low, __m512i high, const Words& words, const Lanes32& shifts, int mask,
                              __m512i* u) {
  for (int i = 0; i < 4; ++i) {
    const __m512i own = _mm512_srlv_epi32(_mm512_permutex2var_epi32(low, words[i], high), shifts);
    u[i] = _mm512_and_si512(own, _mm512_set1_epi8(static_cast<char>(mask)));
  }
}

// Adds upper bits, rotated to the left to where `mask` has them.
INLINE_AVX512 void add_upper_bits(__m512i bytes, const Words& words, const Lanes32& rotations, int mask,
                                  __m512i* u) {
  constexpr int kFirstOrBothOthers = 0xf8;
  for (int i = 0; i < 4; ++i) {
    const __m512i own = _mm512_rolv_epi32(_mm512_permutexvar_epi32(words[i], bytes), rotations);
    u[i] =
        _mm512_ternarylogic_epi32(u[i], own, _mm512_set1_epi8(static_cast<char>(mask)), kFirstOrBothOthers);
  }
}

// Where the codes of half run `lane` are: those of a run of 32 are in 32 bytes, 8 words.
constexpr int half(int lane) {
  return 4 * (lane % 2);
}
constexpr int run(int lane) {
  return lane / 2;
}

INLINE_AVX512 __m512i load32(const void* bytes) {
  return _mm512_zextsi256_si512(_mm256_loadu_si256(static_cast<const __m256i*>(bytes)));
}
INLINE_AVX512 __m512 floats(__m128i bytes) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}
// In the four lanes.
INLINE_AVX512 __m128 f32_of(f16_bits half) {
  return _mm_cvtph_ps(_mm_set1_epi16(static_cast<short>(half)));
}
INLINE_AVX512 __m512 all(f16_bits half) {
  return _mm512_broadcastss_ps(f32_of(half));
}

// One block, whose half runs have steps of their own.
template <class BlockType, int zero>
struct HalfRuns {
  using Block = BlockType;
  static constexpr int kZero = zero;
  static constexpr int64_t kValues = 256;
  static constexpr int64_t kBytes = sizeof(Block);
  static constexpr Order kOrder = Order::by_half_runs;

  INLINE_AVX512 static const Block& block(const std::byte* group) {
    return *reinterpret_cast<const Block*>(group);
  }
  INLINE_AVX512 static __m512 x_steps(const RowActivations& x, int64_t group) {
    static constexpr Lanes32 kRuns(run);
    return _mm512_permutexvar_ps(kRuns, _mm512_castps256_ps512(_mm256_loadu_ps(x.steps + 8 * group)));
  }
  INLINE_AVX512 static __m512 x_sums(const RowActivations& x, int64_t group) {
    return _mm512_loadu_ps(x.half_sums + 16 * group);
  }
  INLINE_AVX512 static __m512i x_minus_codes(const RowActivations& x, int64_t group) {
    return load(x.half_minus_codes + 16 * group);
  }
};

// A block of each of four rows. Products are summed in half runs, which are then put together as integers.
template <class BlockType, int zero>
struct WholeRuns {
  using Block = BlockType;
  static constexpr int kZero = zero;
  static constexpr int64_t kValues = 256;
  static constexpr int64_t kBytes = sizeof(Block);
  static constexpr Order kOrder = Order::by_half_runs;
  static constexpr int kFours = 2;
  static constexpr int kVectors = 16;  // four of each row

  INLINE_AVX512 static const Block& block(const std::byte* row) {
    return *reinterpret_cast<const Block*>(row);
  }

  static constexpr int kTileTokens = 2;

  template <int kGroups, int kTokens>
  INLINE_AVX512 static void multiply(const __m512i (&u)[kGroups][16], const int8_t* const (&x)[kTokens],
                                     __m512i (&products)[kTokens][kGroups][2]) {
    static_assert(kGroups == 1);
    __m512i rows[kTokens][4];
    for (int t = 0; t < kTokens; ++t) {
      for (int r = 0; r < 4; ++r) rows[t][r] = _mm512_setzero_si512();
    }
    for (int i = 0; i < 4; ++i) {
      for (int t = 0; t < kTokens; ++t) {
        const __m512i piece = load(x[t] + 64 * i);
        for (int r = 0; r < 4; ++r) rows[t][r] = _mm512_dpbusd_epi32(rows[t][r], u[0][4 * r + i], piece);
      }
    }
    for (int t = 0; t < kTokens; ++t) {
      const __m512i rows01 = sums_of_neighbours(rows[t][0], rows[t][1]),
                    rows23 = sums_of_neighbours(rows[t][2], rows[t][3]);
      const __m512i both[2] = {_mm512_shuffle_i32x4(rows01, rows23, 0b10'00'10'00),
                               _mm512_shuffle_i32x4(rows01, rows23, 0b11'01'11'01)};
      for (int f = 0; f < 2; ++f) {
        products[t][0][f] = kZero != 0 ? _mm512_add_epi32(products[t][0][f], both[f]) : both[f];
      }
    }
  }

 private:
  // In lane i: the sum of lanes 2 i and 2 i + 1, the second vector's behind those of the first.
  INLINE_AVX512 static __m512i sums_of_neighbours(__m512i a, __m512i b) {
    static constexpr Lanes32 kEven([](int lane) { return 2 * lane; });
    static constexpr Lanes32 kOdd([](int lane) { return 2 * lane + 1; });
    return _mm512_add_epi32(_mm512_permutex2var_epi32(a, kEven, b), _mm512_permutex2var_epi32(a, kOdd, b));
  }
};

// Q4_K and Q5_K.
template <class Block>
struct RunsAboveMinimums : WholeRuns<Block, 0> {
  static constexpr Words kNibbleWords = words_from([](int lane) { return 8 * (run(lane) / 2) + half(lane); });

  // Of the runs with an even and with an odd number, each times a factor.
  INLINE_AVX512 static void steps_times(const FourRows& rows, float even, float odd, __m512 (&step)[2],
                                        __m512 (&offset)[2]) {
    __m512i all[4];
    for (int r = 0; r < 4; ++r) {
      all[r] = _mm512_castps_si512(eight_steps(WholeRuns<Block, 0>::block(rows[r]), even, odd));
    }
    transpose_quarters(all, all);
    for (int f = 0; f < 2; ++f) {
      step[f] = _mm512_castsi512_ps(all[f]);
      offset[f] = _mm512_castsi512_ps(all[2 + f]);
    }
  }

 private:
  // Eight steps, then eight minimums; see unpack_k_scales().
  INLINE_AVX512 static __m512 eight_steps(const Block& block, float even, float odd) {
    static constexpr Lanes32 kFactors([](int lane) { return lane < 8 ? lane % 2 : 2; });
    const __m128i head = load16(&block);  // d and dmin, then the twelve bytes
    const __m128i own =
        _mm_and_si128(_mm_srlv_epi32(_mm_shuffle_epi32(head, 0b11'10'11'01), _mm_setr_epi32(0, 0, 0, 4)),
                      _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
    const __m128i top = _mm_and_si128(_mm_srli_epi32(_mm_shuffle_epi32(head, 0b10'00'01'00), 2),
                                      _mm_setr_epi32(0, 0x30303030, 0, 0x30303030));
    const __m128 d = _mm_cvtph_ps(head);
    const __m128 factors = _mm_mul_ps(_mm_permute_ps(d, 0b01'01'00'00), _mm_setr_ps(even, odd, -1, 0));
    return _mm512_mul_ps(floats(_mm_or_si128(own, top)),
                         _mm512_permutexvar_ps(kFactors, _mm512_castps128_ps512(factors)));
  }
};

// Nibbles stay where they are: the codes of runs with an odd number count sixteenfold.
struct Q4K : RunsAboveMinimums<BlockQ4K> {
  INLINE_AVX512 static void codes(const FourRows& rows, __m512i (&u)[16]) {
    static constexpr Lanes32 kMasks([](int lane) { return run(lane) % 2 ? 0xf0f0f0f0 : 0x0f0f0f0f; });
    for (int r = 0; r < 4; ++r) {
      const __m512i low = load(block(rows[r]).q), high = load(block(rows[r]).q + 64);
      for (int i = 0; i < 4; ++i) {
        u[4 * r + i] = _mm512_and_si512(_mm512_permutex2var_epi32(low, kNibbleWords[i], high), kMasks);
      }
    }
  }
  INLINE_AVX512 static void steps(const FourRows& rows, __m512 (&step)[2], __m512 (&offset)[2]) {
    steps_times(rows, 1, 1.0f / 16, step, offset);
  }
};

struct Q5K : RunsAboveMinimums<BlockQ5K> {
  INLINE_AVX512 static void codes(const FourRows& rows, __m512i (&u)[16]) {
    static constexpr Lanes32 kShifts([](int lane) { return 4 * (run(lane) % 2); });
    static constexpr Words kWords = words_from(half);
    static constexpr Lanes32 kRotations([](int lane) { return (32 + 4 - run(lane)) % 32; });
    for (int r = 0; r < 4; ++r) {
      const uint8_t* q = block(rows[r]).q;
      take_codes(load(q), load(q + 64), kNibbleWords, kShifts, 15, u + 4 * r);
      add_upper_bits(load32(block(rows[r]).high), kWords, kRotations, 16, u + 4 * r);
    }
  }
  INLINE_AVX512 static void steps(const FourRows& rows, __m512 (&step)[2], __m512 (&offset)[2]) {
    steps_times(rows, 1, 1, step, offset);
  }
};

struct Q6K : HalfRuns<BlockQ6K, 32> {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[4]) {
    static constexpr Words kLowWords =
        words_from([](int lane) { return 16 * (run(lane) / 4) + 8 * (run(lane) % 2) + half(lane); });
    static constexpr Lanes32 kShifts([](int lane) { return 4 * (run(lane) / 2 % 2); });
    static constexpr Words kHighWords = words_from([](int lane) { return 8 * (run(lane) / 4) + half(lane); });
    static constexpr Lanes32 kRotations([](int lane) { return (32 + 4 - 2 * (run(lane) % 4)) % 32; });
    take_codes(load(block(group).low), load(block(group).low + 64), kLowWords, kShifts, 15, u);
    add_upper_bits(load(block(group).high), kHighWords, kRotations, 0x30, u);
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m512& step, __m512&) {
    step = _mm512_mul_ps(floats(load16(block(group).scales)), all(block(group).d));
  }
};

// Q2_K and Q3_K.
template <class Block, int zero>
struct TwoBits : HalfRuns<Block, zero> {
  static constexpr Words kWords = words_from([](int lane) { return 8 * (run(lane) / 4) + half(lane); });

  INLINE_AVX512 static void two_bits(const uint8_t* q, __m512i (&u)[4]) {
    static constexpr Lanes32 kShifts([](int lane) { return 2 * (run(lane) % 4); });
    take_codes(load(q), kWords, kShifts, 3, u);
  }
};

// Codes stay where they are in their bytes, and count 1, 4, 16 or 64 times.
struct Q2K : TwoBits<BlockQ2K, 0> {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[4]) {
    static constexpr Lanes32 kMasks([](int lane) { return 0x03030303u << 2 * (run(lane) % 4); });
    const __m512i bytes = load(block(group).q);
    for (int i = 0; i < 4; ++i) u[i] = _mm512_and_si512(_mm512_permutexvar_epi32(kWords[i], bytes), kMasks);
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m512& step, __m512& offset) {
    static constexpr Lanes32 kPowers([](int lane) { return run(lane) % 4; });
    const __m128i both = load16(block(group).scales), mask = _mm_set1_epi8(15);
    const __m128 d = _mm_mul_ps(f32_of(block(group).d), _mm_setr_ps(1, 1.0f / 4, 1.0f / 16, 1.0f / 64));
    step = _mm512_mul_ps(floats(_mm_and_si128(both, mask)),
                         _mm512_permutexvar_ps(kPowers, _mm512_castps128_ps512(d)));
    const __m128 minus_dmin = _mm_sub_ps(_mm_setzero_ps(), f32_of(block(group).dmin));
    const __m512 minimums = floats(_mm_and_si128(_mm_srli_epi16(both, 4), mask));
    offset = _mm512_mul_ps(minimums, _mm512_broadcastss_ps(minus_dmin));
  }
};

struct Q3K : TwoBits<BlockQ3K, 4> {
  INLINE_AVX512 static void codes(const std::byte* group, __m512i (&u)[4]) {
    static constexpr Words kHighWords = words_from(half);
    static constexpr Lanes32 kRotations([](int lane) { return (32 + 2 - run(lane)) % 32; });
    two_bits(block(group).q, u);
    add_upper_bits(load32(block(group).high), kHighWords, kRotations, 4, u);
  }
  INLINE_AVX512 static void steps(const std::byte* group, __m512& step, __m512&) {
    const uint8_t* scales = block(group).scales;
    const __m128i low8 = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales));
    const __m128i low = _mm_and_si128(_mm_unpacklo_epi64(low8, _mm_srli_epi16(low8, 4)), _mm_set1_epi8(15));
    int32_t high_bits;
    std::memcpy(&high_bits, scales + 8, sizeof(high_bits));
    const __m128i high = _mm_and_si128(_mm_srlv_epi32(_mm_set1_epi32(high_bits), _mm_setr_epi32(0, 2, 4, 6)),
                                       _mm_set1_epi8(3));
    const __m128i codes = _mm_sub_epi8(_mm_or_si128(low, _mm_slli_epi16(high, 4)), _mm_set1_epi8(32));
    step = _mm512_mul_ps(floats(codes), all(block(group).d));
  }
};

struct Iq4Xs : WholeRuns<BlockIq4Xs, 128> {
  INLINE_AVX512 static void codes(const FourRows& rows, __m512i (&u)[16]) {
    static constexpr Words kWords = words_from([](int lane) { return 4 * run(lane); });
    static constexpr Lanes32 kShifts(half);
    for (int r = 0; r < 4; ++r) {
      const uint8_t* q = block(rows[r]).q;
      take_codes(load(q), load(q + 64), kWords, kShifts, 15, u + 4 * r);
    }
    const __m512i table = iq4_table();
    for (__m512i& codes : u) codes = _mm512_shuffle_epi8(table, codes);
  }
  INLINE_AVX512 static void steps(const FourRows& rows, __m512 (&step)[2], __m512 (&)[2]) {
    const __m512 rows01 = _mm512_insertf32x8(_mm512_castps256_ps512(eight_steps(block(rows[0]))),
                                             eight_steps(block(rows[1])), 1);
    const __m512 rows23 = _mm512_insertf32x8(_mm512_castps256_ps512(eight_steps(block(rows[2]))),
                                             eight_steps(block(rows[3])), 1);
    step[0] = _mm512_shuffle_f32x4(rows01, rows23, 0b10'00'10'00);
    step[1] = _mm512_shuffle_f32x4(rows01, rows23, 0b11'01'11'01);
  }

 private:
  INLINE_AVX512 static __m256 eight_steps(const Block& block) {
    int32_t low_bits;
    std::memcpy(&low_bits, block.scales_low, sizeof(low_bits));
    const __m256i low =
        _mm256_srlv_epi32(_mm256_set1_epi32(low_bits), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    const __m256i high =
        _mm256_srlv_epi32(_mm256_set1_epi32(block.scales_high), _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
    const __m256i codes = _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                                          _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4));
    const __m256 steps = _mm256_cvtepi32_ps(_mm256_sub_epi32(codes, _mm256_set1_epi32(32)));
    return _mm256_mul_ps(steps, _mm256_broadcastss_ps(f32_of(block.d)));
  }
};

}  // namespace

PARLANCE_AVX512 void gemv_q2_k(const GemvArgs& args) {
  gemv_half_runs<Q2K>(args);
}
PARLANCE_AVX512 void gemv_q3_k(const GemvArgs& args) {
  gemv_half_runs<Q3K>(args);
}
PARLANCE_AVX512 void gemv_q4_k(const GemvArgs& args) {
  gemv_runs<Q4K>(args);
}
PARLANCE_AVX512 void gemv_q5_k(const GemvArgs& args) {
  gemv_runs<Q5K>(args);
}
PARLANCE_AVX512 void gemv_q6_k(const GemvArgs& args) {
  gemv_half_runs<Q6K>(args);
}
PARLANCE_AVX512 void gemv_iq4_xs(const GemvArgs& args) {
  gemv_runs<Iq4Xs>(args);
}

}  // namespace parlance::matmul::avx512

#endif
