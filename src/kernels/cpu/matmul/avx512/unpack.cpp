// Unpacks panels of rows for AVX-512. A vector holds four codes of each of 16 rows; what a block's bits say
// about four neighbouring values is then computed for 16 rows at once.
#include "kernels/cpu/matmul/avx512/quantised.h"
#include "kernels/cpu/simd/transpose_words.h"

#ifdef PARLANCE_X86

#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"

namespace parlance::matmul::avx512 {

namespace {

#define INLINE_AVX512 PARLANCE_AVX512 PARLANCE_INLINE

constexpr int kRows = 16;   // of a vector
constexpr int kPieces = 8;  // of four codes in a run

// One block of each of 16 rows.
struct Blocks {
  const std::byte* const* rows;
  size_t offset;

  // piece[i]: bytes 4 * i .. 4 * i + 3 of the 16 at `at` in each row's block.
  INLINE_AVX512 void load16(size_t at, __m512i (&piece)[4]) const {
    for (int i = 0; i < 4; ++i) {  // rows i, i + 4, i + 8, i + 12
      piece[i] = _mm512_castsi128_si512(load(i, at));
      piece[i] = _mm512_inserti32x4(piece[i], load(i + 4, at), 1);
      piece[i] = _mm512_inserti32x4(piece[i], load(i + 8, at), 2);
      piece[i] = _mm512_inserti32x4(piece[i], load(i + 12, at), 3);
    }
    simd::transpose_words(piece);
  }

  INLINE_AVX512 void load32(size_t at, __m512i (&piece)[8]) const {
    __m512i half[4];
    load16(at, half);
    for (int i = 0; i < 4; ++i) piece[i] = half[i];
    load16(at + 16, half);
    for (int i = 0; i < 4; ++i) piece[4 + i] = half[i];
  }

  // The 32 bits at `at`.
  INLINE_AVX512 __m512i load4(size_t at) const {
    __m128i v[4];
    for (int i = 0; i < 4; ++i) {
      v[i] = _mm_cvtsi32_si128(word32(4 * i, at));
      v[i] = _mm_insert_epi32(v[i], word32(4 * i + 1, at), 1);
      v[i] = _mm_insert_epi32(v[i], word32(4 * i + 2, at), 2);
      v[i] = _mm_insert_epi32(v[i], word32(4 * i + 3, at), 3);
    }
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(v[0]), v[1], 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(v[2]), v[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }

  // The half float at `at`.
  INLINE_AVX512 __m512 load_half(size_t at) const {
    __m128i v[2];
    for (int i = 0; i < 2; ++i) {
      v[i] = _mm_cvtsi32_si128(word16(8 * i, at));
      v[i] = _mm_insert_epi16(v[i], word16(8 * i + 1, at), 1);
      v[i] = _mm_insert_epi16(v[i], word16(8 * i + 2, at), 2);
      v[i] = _mm_insert_epi16(v[i], word16(8 * i + 3, at), 3);
      v[i] = _mm_insert_epi16(v[i], word16(8 * i + 4, at), 4);
      v[i] = _mm_insert_epi16(v[i], word16(8 * i + 5, at), 5);
      v[i] = _mm_insert_epi16(v[i], word16(8 * i + 6, at), 6);
      v[i] = _mm_insert_epi16(v[i], word16(8 * i + 7, at), 7);
    }
    return _mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(v[0]), v[1], 1));
  }

 private:
  INLINE_AVX512 __m128i load(int row, size_t at) const {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[row] + offset + at));
  }
  INLINE_AVX512 int word16(int row, size_t at) const {
    uint16_t word;
    std::memcpy(&word, rows[row] + offset + at, sizeof(word));
    return word;
  }
  INLINE_AVX512 int word32(int row, size_t at) const {
    int32_t word;
    std::memcpy(&word, rows[row] + offset + at, sizeof(word));
    return word;
  }
};

// Where 16 rows of the panel lie from one run on.
struct Target {
  int8_t* codes;
  float* steps;
  float* offsets;

  INLINE_AVX512 void put_codes(int run, int piece, __m512i v) const {
    _mm512_storeu_si512(codes + (run * kPieces + piece) * kPanelRows * 4, v);
  }
  // `part`: a run, or half of one.
  INLINE_AVX512 void put_step(int part, __m512 v) const { _mm512_storeu_ps(steps + part * kPanelRows, v); }
  INLINE_AVX512 void put_offset(int part, __m512 v) const {
    _mm512_storeu_ps(offsets + part * kPanelRows, v);
  }
};

INLINE_AVX512 __m512i byte_mask(int value) {
  return _mm512_set1_epi8(static_cast<char>(value));
}

// (v >> shift) & mask in every byte, for masks that reach no further than the byte's own bits.
INLINE_AVX512 __m512i bits(__m512i v, int shift, int mask) {
  return _mm512_and_si512(_mm512_srli_epi32(v, static_cast<unsigned>(shift)), byte_mask(mask));
}
INLINE_AVX512 __m512i integer_bits(__m512i v, int shift, int mask) {
  return _mm512_and_si512(_mm512_srli_epi32(v, static_cast<unsigned>(shift)), _mm512_set1_epi32(mask));
}
INLINE_AVX512 __m512i minus(__m512i v, int zero) {
  return _mm512_sub_epi8(v, byte_mask(zero));
}

// The half floats in the low and in the high 16 bits.
INLINE_AVX512 __m512 low_half(__m512i v) {
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v));
}
INLINE_AVX512 __m512 high_half(__m512i v) {
  return low_half(_mm512_srli_epi32(v, 16));
}

INLINE_AVX512 __m512 times(__m512 d, __m512i integers) {
  return _mm512_mul_ps(d, _mm512_cvtepi32_ps(integers));
}
INLINE_AVX512 __m512 minus_times(__m512 d, __m512i integers) {
  return _mm512_sub_ps(_mm512_setzero_ps(), times(d, integers));
}

INLINE_AVX512 __m512i iq4_values(__m512i nibbles) {
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values.data()));
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), nibbles);
}

struct UnpackQ8_0 {
  using Block = BlockQ8_0;
  static constexpr bool kHalfRuns = false;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    __m512i q[8];
    blocks.load32(offsetof(Block, q), q);
    for (int i = 0; i < kPieces; ++i) target.put_codes(0, i, q[i]);
    target.put_step(0, blocks.load_half(offsetof(Block, d)));
  }
};

struct UnpackQ4_0 {
  using Block = BlockQ4_0;
  static constexpr bool kHalfRuns = false;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    __m512i q[4];
    blocks.load16(offsetof(Block, q), q);
    for (int i = 0; i < 4; ++i) {
      target.put_codes(0, i, minus(bits(q[i], 0, 15), 8));
      target.put_codes(0, 4 + i, minus(bits(q[i], 4, 15), 8));
    }
    target.put_step(0, blocks.load_half(offsetof(Block, d)));
  }
};

struct UnpackIq4Nl {
  using Block = BlockIq4Nl;
  static constexpr bool kHalfRuns = false;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    __m512i q[4];
    blocks.load16(offsetof(Block, q), q);
    for (int i = 0; i < 4; ++i) {
      target.put_codes(0, i, iq4_values(bits(q[i], 0, 15)));
      target.put_codes(0, 4 + i, iq4_values(bits(q[i], 4, 15)));
    }
    target.put_step(0, blocks.load_half(offsetof(Block, d)));
  }
};

struct UnpackQ4_1 {
  using Block = BlockQ4_1;
  static constexpr bool kHalfRuns = false;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    __m512i q[4];
    blocks.load16(offsetof(Block, q), q);
    for (int i = 0; i < 4; ++i) {
      target.put_codes(0, i, bits(q[i], 0, 15));
      target.put_codes(0, 4 + i, bits(q[i], 4, 15));
    }
    const __m512i head = blocks.load4(0);
    target.put_step(0, low_half(head));
    target.put_offset(0, high_half(head));
  }
};

// 16 in each of four bytes whose bit is set in bits 4 * i .. 4 * i + 3 of `high`.
INLINE_AVX512 __m512i fifth_bits(__m512i high, int i) {
  const __m512i spread =
      _mm512_setr_epi32(0, 0x10, 0x1000, 0x1010, 0x100000, 0x100010, 0x101000, 0x101010, 0x10000000,
                        0x10000010, 0x10001000, 0x10001010, 0x10100000, 0x10100010, 0x10101000, 0x10101010);
  return _mm512_permutexvar_epi32(_mm512_srli_epi32(high, static_cast<unsigned>(4 * i)), spread);
}

struct UnpackQ5_0 {
  using Block = BlockQ5_0;
  static constexpr bool kHalfRuns = false;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    __m512i q[4];
    blocks.load16(offsetof(Block, q), q);
    const __m512i high = blocks.load4(offsetof(Block, high));
    for (int i = 0; i < 4; ++i) {
      target.put_codes(0, i, minus(_mm512_or_si512(bits(q[i], 0, 15), fifth_bits(high, i)), 16));
      target.put_codes(0, 4 + i, minus(_mm512_or_si512(bits(q[i], 4, 15), fifth_bits(high, 4 + i)), 16));
    }
    target.put_step(0, blocks.load_half(offsetof(Block, d)));
  }
};

struct UnpackQ5_1 {
  using Block = BlockQ5_1;
  static constexpr bool kHalfRuns = false;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    __m512i q[4], head[4];
    blocks.load16(offsetof(Block, q), q);
    blocks.load16(0, head);
    for (int i = 0; i < 4; ++i) {
      target.put_codes(0, i, _mm512_or_si512(bits(q[i], 0, 15), fifth_bits(head[1], i)));
      target.put_codes(0, 4 + i, _mm512_or_si512(bits(q[i], 4, 15), fifth_bits(head[1], 4 + i)));
    }
    target.put_step(0, low_half(head[0]));
    target.put_offset(0, high_half(head[0]));
  }
};

// The steps and minimums of Q4_K and Q5_K from the first 16 bytes of the blocks; see unpack_k_scales().
INLINE_AVX512 void put_k_scales(const __m512i (&head)[4], const Target& target) {
  const __m512 d = low_half(head[0]), dmin = high_half(head[0]);
  for (int j = 0; j < 4; ++j) {
    target.put_step(j, times(d, integer_bits(head[1], 8 * j, 63)));
    target.put_offset(j, minus_times(dmin, integer_bits(head[2], 8 * j, 63)));
    const __m512i step_top = _mm512_slli_epi32(integer_bits(head[1], 8 * j + 6, 3), 4);
    const __m512i minimum_top = _mm512_slli_epi32(integer_bits(head[2], 8 * j + 6, 3), 4);
    target.put_step(4 + j, times(d, _mm512_or_si512(integer_bits(head[3], 8 * j, 15), step_top)));
    target.put_offset(4 + j,
                      minus_times(dmin, _mm512_or_si512(integer_bits(head[3], 8 * j + 4, 15), minimum_top)));
  }
}

struct UnpackQ4K {
  using Block = BlockQ4K;
  static constexpr bool kHalfRuns = false;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    __m512i head[4];
    blocks.load16(0, head);
    put_k_scales(head, target);
    for (int pair = 0; pair < 4; ++pair) {
      __m512i q[8];
      blocks.load32(offsetof(Block, q) + 32 * static_cast<size_t>(pair), q);
      for (int i = 0; i < kPieces; ++i) {
        target.put_codes(2 * pair, i, bits(q[i], 0, 15));
        target.put_codes(2 * pair + 1, i, bits(q[i], 4, 15));
      }
    }
  }
};

struct UnpackQ5K {
  using Block = BlockQ5K;
  static constexpr bool kHalfRuns = false;
  INLINE_AVX512 static __m512i fifth_bit(__m512i high, int run) {
    return _mm512_slli_epi32(bits(high, run, 1), 4);
  }
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    __m512i head[4], high[8];
    blocks.load16(0, head);
    put_k_scales(head, target);
    blocks.load32(offsetof(Block, high), high);
    for (int pair = 0; pair < 4; ++pair) {
      __m512i q[8];
      blocks.load32(offsetof(Block, q) + 32 * static_cast<size_t>(pair), q);
      for (int i = 0; i < kPieces; ++i) {
        target.put_codes(2 * pair, i, _mm512_or_si512(bits(q[i], 0, 15), fifth_bit(high[i], 2 * pair)));
        target.put_codes(2 * pair + 1, i,
                         _mm512_or_si512(bits(q[i], 4, 15), fifth_bit(high[i], 2 * pair + 1)));
      }
    }
  }
};

struct UnpackQ6K {
  using Block = BlockQ6K;
  static constexpr bool kHalfRuns = true;
  INLINE_AVX512 static __m512i code(__m512i low, __m512i high) {
    return minus(_mm512_or_si512(low, high), 32);
  }
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    for (int h = 0; h < 2; ++h) {
      const size_t half = static_cast<size_t>(h);
      __m512i low0[8], low1[8], high[8];
      blocks.load32(offsetof(Block, low) + 64 * half, low0);
      blocks.load32(offsetof(Block, low) + 64 * half + 32, low1);
      blocks.load32(offsetof(Block, high) + 32 * half, high);
      for (int i = 0; i < kPieces; ++i) {
        const __m512i up2 = _mm512_slli_epi32(high[i], 2), up4 = _mm512_slli_epi32(high[i], 4);
        target.put_codes(4 * h, i, code(bits(low0[i], 0, 15), bits(up4, 0, 0x30)));
        target.put_codes(4 * h + 1, i, code(bits(low1[i], 0, 15), bits(up2, 0, 0x30)));
        target.put_codes(4 * h + 2, i, code(bits(low0[i], 4, 15), bits(high[i], 0, 0x30)));
        target.put_codes(4 * h + 3, i, code(bits(low1[i], 4, 15), bits(high[i], 2, 0x30)));
      }
    }
    const __m512 d = blocks.load_half(offsetof(Block, d));
    __m512i scales[4];
    blocks.load16(offsetof(Block, scales), scales);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const __m512i top = _mm512_slli_epi32(scales[i], static_cast<unsigned>(24 - 8 * j));
        target.put_step(4 * i + j, times(d, _mm512_srai_epi32(top, 24)));
      }
    }
  }
};

struct UnpackQ2K {
  using Block = BlockQ2K;
  static constexpr bool kHalfRuns = true;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    for (int h = 0; h < 2; ++h) {
      __m512i q[8];
      blocks.load32(offsetof(Block, q) + 32 * static_cast<size_t>(h), q);
      for (int k = 0; k < 4; ++k) {
        for (int i = 0; i < kPieces; ++i) target.put_codes(4 * h + k, i, bits(q[i], 2 * k, 3));
      }
    }
    const __m512i both = blocks.load4(offsetof(Block, d));
    const __m512 d = low_half(both), dmin = high_half(both);
    __m512i scales[4];
    blocks.load16(offsetof(Block, scales), scales);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        target.put_step(4 * i + j, times(d, integer_bits(scales[i], 8 * j, 15)));
        target.put_offset(4 * i + j, minus_times(dmin, integer_bits(scales[i], 8 * j + 4, 15)));
      }
    }
  }
};

struct UnpackQ3K {
  using Block = BlockQ3K;
  static constexpr bool kHalfRuns = true;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    __m512i high[8];
    blocks.load32(offsetof(Block, high), high);
    for (int h = 0; h < 2; ++h) {
      __m512i q[8];
      blocks.load32(offsetof(Block, q) + 32 * static_cast<size_t>(h), q);
      for (int k = 0; k < 4; ++k) {
        for (int i = 0; i < kPieces; ++i) {
          const __m512i top = _mm512_slli_epi32(bits(high[i], 4 * h + k, 1), 2);
          target.put_codes(4 * h + k, i, minus(_mm512_or_si512(bits(q[i], 2 * k, 3), top), 4));
        }
      }
    }
    const __m512 d = blocks.load_half(offsetof(Block, d));
    const __m512i low[2] = {blocks.load4(offsetof(Block, scales)), blocks.load4(offsetof(Block, scales) + 4)};
    const __m512i top = blocks.load4(offsetof(Block, scales) + 8);
    for (int g = 0; g < 16; ++g) {
      const __m512i step =
          _mm512_or_si512(integer_bits(low[g % 8 / 4], 8 * (g % 4) + 4 * (g / 8), 15),
                          _mm512_slli_epi32(integer_bits(top, 8 * (g % 4) + 2 * (g / 4), 3), 4));
      target.put_step(g, times(d, _mm512_sub_epi32(step, _mm512_set1_epi32(32))));
    }
  }
};

struct UnpackIq4Xs {
  using Block = BlockIq4Xs;
  static constexpr bool kHalfRuns = false;
  INLINE_AVX512 static void unpack(const Blocks& blocks, const Target& target) {
    for (int run = 0; run < 8; ++run) {
      __m512i q[4];
      blocks.load16(offsetof(Block, q) + 16 * static_cast<size_t>(run), q);
      for (int i = 0; i < 4; ++i) {
        target.put_codes(run, i, iq4_values(bits(q[i], 0, 15)));
        target.put_codes(run, 4 + i, iq4_values(bits(q[i], 4, 15)));
      }
    }
    __m512i head[4];
    blocks.load16(0, head);
    const __m512 d = low_half(head[0]);
    for (int run = 0; run < 8; ++run) {
      const __m512i top = _mm512_slli_epi32(integer_bits(head[0], 16 + 2 * run, 3), 4);
      const __m512i step = _mm512_or_si512(integer_bits(head[1], 4 * run, 15), top);
      target.put_step(run, times(d, _mm512_sub_epi32(step, _mm512_set1_epi32(32))));
    }
  }
};

// Minus 128 times the sum of the codes: undoes the 128 that was added to each code of the activations.
template <bool kHalfRuns>
INLINE_AVX512 void put_start(const int8_t* codes, int32_t* start) {
  constexpr int kParts = kHalfRuns ? 2 : 1;
  for (int part = 0; part < kParts; ++part) {
    __m512i sum = _mm512_setzero_si512();
    for (int i = part * kPieces / kParts; i < (part + 1) * kPieces / kParts; ++i) {
      sum = _mm512_dpbusd_epi32(sum, byte_mask(128), _mm512_loadu_si512(codes + i * kPanelRows * 4));
    }
    _mm512_storeu_si512(start + part * kPanelRows, _mm512_sub_epi32(_mm512_setzero_si512(), sum));
  }
}

template <class Format>
PARLANCE_AVX512 void unpack(const UnpackArgs& args) {
  constexpr int kRunsPerBlock = Format::Block::kElements / kRun;
  constexpr int kParts = Format::kHalfRuns ? 2 : 1;
  for (int first = 0; first < kPanelRows; first += kRows) {
    for (int64_t run = 0; run < args.n_runs; run += kRunsPerBlock) {
      const Blocks blocks{args.rows + first,
                          static_cast<size_t>(run / kRunsPerBlock) * sizeof(typename Format::Block)};
      Target target;
      target.codes = args.panel.codes + (run * kRun * kPanelRows) + first * 4;
      target.steps = args.panel.steps + kParts * run * kPanelRows + first;
      target.offsets = args.panel.offsets + kParts * run * kPanelRows + first;
      Format::unpack(blocks, target);
      int32_t* start = args.panel.start + kParts * run * kPanelRows + first;
      for (int r = 0; r < kRunsPerBlock; ++r) {
        put_start<Format::kHalfRuns>(target.codes + r * kRun * kPanelRows, start + r * kParts * kPanelRows);
      }
    }
  }
}

}  // namespace

PARLANCE_AVX512 void unpack_q8_0(const UnpackArgs& args) {
  unpack<UnpackQ8_0>(args);
}
PARLANCE_AVX512 void unpack_q4_0(const UnpackArgs& args) {
  unpack<UnpackQ4_0>(args);
}
PARLANCE_AVX512 void unpack_q4_1(const UnpackArgs& args) {
  unpack<UnpackQ4_1>(args);
}
PARLANCE_AVX512 void unpack_q5_0(const UnpackArgs& args) {
  unpack<UnpackQ5_0>(args);
}
PARLANCE_AVX512 void unpack_q5_1(const UnpackArgs& args) {
  unpack<UnpackQ5_1>(args);
}
PARLANCE_AVX512 void unpack_iq4_nl(const UnpackArgs& args) {
  unpack<UnpackIq4Nl>(args);
}
PARLANCE_AVX512 void unpack_q2_k(const UnpackArgs& args) {
  unpack<UnpackQ2K>(args);
}
PARLANCE_AVX512 void unpack_q3_k(const UnpackArgs& args) {
  unpack<UnpackQ3K>(args);
}
PARLANCE_AVX512 void unpack_q4_k(const UnpackArgs& args) {
  unpack<UnpackQ4K>(args);
}
PARLANCE_AVX512 void unpack_q5_k(const UnpackArgs& args) {
  unpack<UnpackQ5K>(args);
}
PARLANCE_AVX512 void unpack_q6_k(const UnpackArgs& args) {
  unpack<UnpackQ6K>(args);
}
PARLANCE_AVX512 void unpack_iq4_xs(const UnpackArgs& args) {
  unpack<UnpackIq4Xs>(args);
}

}  // namespace parlance::matmul::avx512

#endif
