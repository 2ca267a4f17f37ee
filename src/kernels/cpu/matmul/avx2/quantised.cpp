// matmul with quantised weights on AVX2.
#include <cmath>

#include "kernels/cpu/matmul/cells.h"
#include "kernels/cpu/matmul/quantised.h"
#include "kernels/cpu/matmul/step_codes.h"
#include "kernels/cpu/simd/avx2.h"
#include "quant/iq4_nl.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q8_0.h"

#ifdef PARLANCE_X86

namespace parlance::matmul {

namespace {

#define PARLANCE_SIMD PARLANCE_AVX2

struct V : simd::Avx2 {
  using Codes = __m256i;
  using Sums = __m256i;
  using simd::Avx2::load;

  PARLANCE_SIMD static PARLANCE_INLINE Codes load(const void* bytes) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(bytes));
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes all(int value) {
    return _mm256_set1_epi8(static_cast<char>(value));
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes bits(Codes v, int shift, int mask) {
    return _mm256_and_si256(_mm256_srli_epi16(v, shift), all(mask));
  }
  // Of bytes whose upper bits are zero.
  PARLANCE_SIMD static PARLANCE_INLINE Codes shift_left(Codes v, int shift) {
    return _mm256_slli_epi16(v, shift);
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes either(Codes a, Codes b) { return _mm256_or_si256(a, b); }
  PARLANCE_SIMD static PARLANCE_INLINE Codes nibbles(const uint8_t* q) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(q));
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(bytes), _mm_srli_epi16(bytes, 4), 1);
    return _mm256_and_si256(both, all(15));
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes spread(uint32_t word, int value) {
    const __m256i byte_of_bit =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(word)), byte_of_bit);
    const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit), all(value));
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes iq4_values(Codes nibbles) {
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values.data()));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles);
  }
  PARLANCE_SIMD static PARLANCE_INLINE float f32_of(f16_bits half) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
  }
  template <class Block>
  PARLANCE_SIMD static PARLANCE_INLINE F f32_of_each(const Block* const (&blocks)[kWidth],
                                                     f16_bits Block::*half) {
    __m128i words = _mm_cvtsi32_si128(blocks[0]->*half);
    words = _mm_insert_epi16(words, blocks[1]->*half, 1);
    words = _mm_insert_epi16(words, blocks[2]->*half, 2);
    words = _mm_insert_epi16(words, blocks[3]->*half, 3);
    words = _mm_insert_epi16(words, blocks[4]->*half, 4);
    words = _mm_insert_epi16(words, blocks[5]->*half, 5);
    words = _mm_insert_epi16(words, blocks[6]->*half, 6);
    return _mm256_cvtph_ps(_mm_insert_epi16(words, blocks[7]->*half, 7));
  }
  PARLANCE_SIMD static PARLANCE_INLINE void scale8(const int8_t* codes, float d, float* out) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
    store(out, multiply(broadcast(d), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))));
  }

  // Sums of two products in 16 bits. Signed codes: the sign moves to x, which is never -128, so that the sum
  // of two stays below 2^15; unsigned ones are small enough.
  template <class Format>
  PARLANCE_SIMD static PARLANCE_INLINE __m256i pairs(Codes codes, Codes x) {
    return Format::kSigned ? _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes))
                           : _mm256_maddubs_epi16(codes, x);
  }
  PARLANCE_SIMD static PARLANCE_INLINE Sums quads(__m256i pairs) {
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
  PARLANCE_SIMD static PARLANCE_INLINE F to_f32(Sums sums) { return _mm256_cvtepi32_ps(sums); }

  // Lanes 0 to 3: of the first halves of four runs; 4 to 7: of the second ones.
  using Fours = __m256i;
  template <class Format, bool kHalves>
  PARLANCE_SIMD static PARLANCE_INLINE Fours products_of_four(const Codes (&codes)[4], Codes x) {
    const __m256i a = quads(pairs<Format>(codes[0], x)), b = quads(pairs<Format>(codes[1], x));
    const __m256i c = quads(pairs<Format>(codes[2], x)), d = quads(pairs<Format>(codes[3], x));
    return _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
  }
  PARLANCE_SIMD static PARLANCE_INLINE void halves(const Fours (&fours)[2], Sums (&sums)[2]) {
    sums[0] = _mm256_permute2x128_si256(fours[0], fours[1], 0x20);
    sums[1] = _mm256_permute2x128_si256(fours[0], fours[1], 0x31);
  }
  PARLANCE_SIMD static PARLANCE_INLINE Sums whole(const Fours (&fours)[2]) {
    Sums sums[2];
    halves(fours, sums);
    return _mm256_add_epi32(sums[0], sums[1]);
  }

  static constexpr int kRowGroup = 8;
  // Four bytes of each of eight rows to each of out, out + stride, …
  PARLANCE_SIMD static PARLANCE_INLINE void interleave(const Codes (&rows)[kRowGroup], int8_t* out,
                                                       int stride) {
    F square[kRowGroup];
#pragma GCC unroll 8
    for (int r = 0; r < kRowGroup; ++r) square[r] = _mm256_castsi256_ps(rows[r]);
    transpose(square);
#pragma GCC unroll 8
    for (int i = 0; i < kRowGroup; ++i) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * stride), _mm256_castps_si256(square[i]));
    }
  }

  // Pieces of four products whose pairs can be summed in 16 bits.
  template <class Format, int kPieces>
  static constexpr int summable() {
    int n = Format::kSigned ? 1 : kPieces;
    while (n > 1 && n * 2 * 127 * Format::kMaxCode > 32767) n /= 2;
    return n;
  }

  // dots = products of a run, or of a half of one, of the panel's rows with each token.
  template <class Format, int kTokens, int kVectors, int kPieces, int kTile>
  PARLANCE_SIMD static PARLANCE_INLINE void multiply_part(const int8_t* codes, const RunActivations<kTile>& x,
                                                          int part, Sums (&dots)[kTokens][kVectors]) {
    constexpr int kSummable = summable<Format, kPieces>();
#pragma GCC unroll 8
    for (int first = 0; first < kPieces; first += kSummable) {
      __m256i sums[kTokens][kVectors];
#pragma GCC unroll 8
      for (int piece = first; piece < first + kSummable; ++piece) {
        __m256i w[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) w[v] = load(codes + (piece * kVectors + v) * 32);
#pragma GCC unroll 4
        for (int t = 0; t < kTokens; ++t) {
          int32_t four;
          std::memcpy(&four, &x.codes[t][4 * (part * kPieces + piece)], sizeof(four));
          const __m256i xt = _mm256_set1_epi32(four);
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) {
            const __m256i product = pairs<Format>(w[v], xt);
            sums[t][v] = piece == first ? product : _mm256_add_epi16(sums[t][v], product);
          }
        }
      }
#pragma GCC unroll 4
      for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          dots[t][v] = first == 0 ? quads(sums[t][v]) : _mm256_add_epi32(dots[t][v], quads(sums[t][v]));
        }
      }
    }
  }

  // The largest of magnitudes as integers, of which NaN is the largest.
  PARLANCE_SIMD static PARLANCE_INLINE float largest_magnitude(__m256i bits) {
    __m128i most = _mm_max_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0x4e));
    most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0xb1));
    return _mm_cvtss_f32(_mm_castsi128_ps(most));
  }

  PARLANCE_SIMD static RunCodes quantise(const float* x) {
    const F sign = broadcast(-0.0f);
    F v[4];
    __m256i largest_of = _mm256_setzero_si256();
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      v[i] = load(x + 8 * i);
      largest_of = _mm256_max_epi32(largest_of, _mm256_castps_si256(_mm256_andnot_ps(sign, v[i])));
    }
    const float magnitude = largest_magnitude(largest_of);
    const bool tiny = magnitude < kSmallestMagnitude;
    const F inverse = broadcast(tiny ? 0.0f : 127.0f / magnitude);
    __m256i codes[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) codes[i] = _mm256_cvtps_epi32(multiply(v[i], inverse));
    // Packing works within halves of 16 bytes; the permutation puts the quarters in order.
    const __m256i words0 = _mm256_packs_epi32(codes[0], codes[1]),
                  words1 = _mm256_packs_epi32(codes[2], codes[3]);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(words0, words1),
                                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    RunCodes run;
    _mm256_store_si256(reinterpret_cast<__m256i*>(run.codes), bytes);
    // Sums of eight bytes moved up by 128.
    alignas(32) int64_t sums[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums),
                       _mm256_sad_epu8(_mm256_xor_si256(bytes, all(-128)), _mm256_setzero_si256()));
    run.half_sums[0] = static_cast<int32_t>(sums[0] + sums[1]) - 16 * 128;
    run.half_sums[1] = static_cast<int32_t>(sums[2] + sums[3]) - 16 * 128;
    run.step = tiny ? 0.0f : magnitude / 127.0f;
    return run;
  }
};

#include "kernels/cpu/matmul/quantised_kernels.simd.h"

}  // namespace

Cell<MatmulArgs> quantised_avx2() {
  return QuantisedMatmul<Set>::cell();
}

}  // namespace parlance::matmul

#endif
