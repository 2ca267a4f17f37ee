// The vectors that quantised_kernels.simd.h is written in, for NEON. Included by the files that define
// PARLANCE_SIMD and sum_products(): sum + products of four neighbouring bytes in each lane of 32 bits.

struct NeonVectors : simd::Neon {
  using Codes = int8x16x2_t;
  using Sums = int32x4_t;
  using simd::Neon::load;

  PARLANCE_SIMD static PARLANCE_INLINE Codes load(const void* bytes) {
    const auto* b = static_cast<const int8_t*>(bytes);
    return {{vld1q_s8(b), vld1q_s8(b + 16)}};
  }
  PARLANCE_SIMD static PARLANCE_INLINE int8x16_t bits_of_half(int8x16_t v, int shift, int mask) {
    const uint8x16_t moved = vshlq_u8(vreinterpretq_u8_s8(v), vdupq_n_s8(static_cast<int8_t>(-shift)));
    return vreinterpretq_s8_u8(vandq_u8(moved, vdupq_n_u8(static_cast<uint8_t>(mask))));
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes bits(Codes v, int shift, int mask) {
    return {{bits_of_half(v.val[0], shift, mask), bits_of_half(v.val[1], shift, mask)}};
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes shift_left(Codes v, int shift) {
    const int8x16_t by = vdupq_n_s8(static_cast<int8_t>(shift));
    return {{vshlq_s8(v.val[0], by), vshlq_s8(v.val[1], by)}};
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes either(Codes a, Codes b) {
    return {{vorrq_s8(a.val[0], b.val[0]), vorrq_s8(a.val[1], b.val[1])}};
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes nibbles(const uint8_t* q) {
    const int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(q));
    return {{bits_of_half(bytes, 0, 15), bits_of_half(bytes, 4, 15)}};
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes spread(uint32_t word, int value) {
    const uint8x16_t bytes = vreinterpretq_u8_u32(vdupq_n_u32(word));
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    const uint8x16_t byte_of_bit = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    const uint8x16_t low = vtstq_u8(vqtbl1q_u8(bytes, byte_of_bit), bit);
    const uint8x16_t high = vtstq_u8(vqtbl1q_u8(bytes, vaddq_u8(byte_of_bit, vdupq_n_u8(2))), bit);
    const uint8x16_t all = vdupq_n_u8(static_cast<uint8_t>(value));
    return {{vreinterpretq_s8_u8(vandq_u8(low, all)), vreinterpretq_s8_u8(vandq_u8(high, all))}};
  }
  PARLANCE_SIMD static PARLANCE_INLINE Codes iq4_values(Codes nibbles) {
    const int8x16_t table = vld1q_s8(kIq4Values.data());
    return {{vqtbl1q_s8(table, vreinterpretq_u8_s8(nibbles.val[0])),
             vqtbl1q_s8(table, vreinterpretq_u8_s8(nibbles.val[1]))}};
  }
  PARLANCE_SIMD static PARLANCE_INLINE float f32_of(f16_bits half) {
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
  }
  template <class Block>
  PARLANCE_SIMD static PARLANCE_INLINE F f32_of_each(const Block* const (&blocks)[kWidth],
                                                     f16_bits Block::*half) {
    uint16x4_t words = vdup_n_u16(blocks[0]->*half);
    words = vset_lane_u16(blocks[1]->*half, words, 1);
    words = vset_lane_u16(blocks[2]->*half, words, 2);
    words = vset_lane_u16(blocks[3]->*half, words, 3);
    return vcvt_f32_f16(vreinterpret_f16_u16(words));
  }
  PARLANCE_SIMD static PARLANCE_INLINE void scale8(const int8_t* codes, float d, float* out) {
    const int16x8_t wide = vmovl_s8(vld1_s8(codes));
    store(out, multiply(broadcast(d), to_f32(vmovl_s16(vget_low_s16(wide)))));
    store(out + 4, multiply(broadcast(d), to_f32(vmovl_high_s16(wide))));
  }
  PARLANCE_SIMD static PARLANCE_INLINE F to_f32(Sums sums) { return vcvtq_f32_s32(sums); }

  // A lane for each of four runs, or one for each of their halves; what there is one of for a run lies in
  // [0].
  struct Fours {
    Sums of[2];
  };
  template <class Format, bool kHalves>
  PARLANCE_SIMD static PARLANCE_INLINE Fours products_of_four(const Codes (&codes)[4], Codes x) {
    Sums first[4], second[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      first[r] = sum_products(vdupq_n_s32(0), codes[r].val[0], x.val[0]);
      second[r] = sum_products(kHalves ? vdupq_n_s32(0) : first[r], codes[r].val[1], x.val[1]);
    }
    if constexpr (kHalves) {
      return {{totals_of(first), totals_of(second)}};
    } else {
      return {{totals_of(second), vdupq_n_s32(0)}};
    }
  }
  PARLANCE_SIMD static PARLANCE_INLINE void halves(const Fours (&fours)[1], Sums (&sums)[2]) {
    sums[0] = fours[0].of[0];
    sums[1] = fours[0].of[1];
  }
  PARLANCE_SIMD static PARLANCE_INLINE Sums whole(const Fours (&fours)[1]) {
    return fours[0].of[0];
  }

  PARLANCE_SIMD static PARLANCE_INLINE Sums totals_of(const Sums (&v)[4]) {
    return vpaddq_s32(vpaddq_s32(v[0], v[1]), vpaddq_s32(v[2], v[3]));
  }

  static constexpr int kRowGroup = 4;
  // Four bytes of each of four rows to each of out, out + stride, …
  PARLANCE_SIMD static PARLANCE_INLINE void interleave(const Codes (&rows)[kRowGroup], int8_t* out,
                                                       int stride) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      F square[kRowGroup];
#pragma GCC unroll 4
      for (int r = 0; r < kRowGroup; ++r) square[r] = vreinterpretq_f32_s8(rows[r].val[half]);
      transpose(square);
#pragma GCC unroll 4
      for (int i = 0; i < kRowGroup; ++i) {
        vst1q_s8(out + (4 * half + i) * stride, vreinterpretq_s8_f32(square[i]));
      }
    }
  }

  // dots = products of a run, or of a half of one, of the panel's rows with each token.
  template <class Format, int kTokens, int kVectors, int kPieces, int kTile>
  PARLANCE_SIMD static PARLANCE_INLINE void multiply_part(const int8_t* codes, const RunActivations<kTile>& x,
                                                          int part, Sums (&dots)[kTokens][kVectors]) {
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) dots[t][v] = vdupq_n_s32(0);
    }
#pragma GCC unroll 8
    for (int piece = 0; piece < kPieces; ++piece) {
      int8x16_t w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) w[v] = vld1q_s8(codes + (piece * kVectors + v) * 16);
#pragma GCC unroll 4
      for (int t = 0; t < kTokens; ++t) {
        int32_t four;
        std::memcpy(&four, &x.codes[t][4 * (part * kPieces + piece)], sizeof(four));
        const int8x16_t xt = vreinterpretq_s8_s32(vdupq_n_s32(four));
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) dots[t][v] = sum_products(dots[t][v], w[v], xt);
      }
    }
  }

  PARLANCE_SIMD static RunCodes quantise(const float* x) {
    F v[8];
    F largest_of = zero();
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      v[i] = load(x + 4 * i);
      largest_of = maximum(largest_of, vabsq_f32(v[i]));
    }
    const float magnitude = largest(largest_of);
    const bool tiny = magnitude < kSmallestMagnitude;
    const F inverse = broadcast(tiny ? 0.0f : 127.0f / magnitude);
    RunCodes run;
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      int16x4_t words[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) words[i] = vmovn_s32(vcvtnq_s32_f32(multiply(v[4 * half + i], inverse)));
      const int8x16_t codes = vcombine_s8(vmovn_s16(vcombine_s16(words[0], words[1])),
                                          vmovn_s16(vcombine_s16(words[2], words[3])));
      vst1q_s8(run.codes + 16 * half, codes);
      run.half_sums[half] = vaddlvq_s8(codes);
    }
    run.step = tiny ? 0.0f : magnitude / 127.0f;
    return run;
  }
};
