// Four floats in a NEON register; the names are those of avx512.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/simd/exp_constants.h"

#if PARLANCE_NEON

namespace parlance::simd {

struct Neon {
  using F = float32x4_t;
  static constexpr int kWidth = 4;
  static constexpr int kRegisters = 32;

  static PARLANCE_INLINE F zero() { return vdupq_n_f32(0); }
  static PARLANCE_INLINE F broadcast(float x) { return vdupq_n_f32(x); }
  static PARLANCE_INLINE F load(const float* x) { return vld1q_f32(x); }
  static PARLANCE_INLINE void store(float* x, F a) { vst1q_f32(x, a); }
  static PARLANCE_INLINE F load_first(const float* x, int64_t n) {
    float copy[kWidth] = {};
    std::memcpy(copy, x, static_cast<size_t>(n) * sizeof(float));
    return vld1q_f32(copy);
  }
  static PARLANCE_INLINE void store_first(float* x, F a, int64_t n) {
    float copy[kWidth];
    vst1q_f32(copy, a);
    std::memcpy(x, copy, static_cast<size_t>(n) * sizeof(float));
  }

  static PARLANCE_INLINE F add(F a, F b) { return vaddq_f32(a, b); }
  static PARLANCE_INLINE F subtract(F a, F b) { return vsubq_f32(a, b); }
  static PARLANCE_INLINE F multiply(F a, F b) { return vmulq_f32(a, b); }
  static PARLANCE_INLINE F divide(F a, F b) { return vdivq_f32(a, b); }
  static PARLANCE_INLINE F maximum(F a, F b) { return vmaxq_f32(a, b); }
  static PARLANCE_INLINE F multiply_add(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static PARLANCE_INLINE float sum(F a) { return vaddvq_f32(a); }
  static PARLANCE_INLINE float largest(F a) { return vmaxvq_f32(a); }

  static PARLANCE_INLINE F widen_f16(const std::byte* x) { return from_f16_bits(vld1_u16(halves(x))); }
  static PARLANCE_INLINE F widen_f16_first(const std::byte* x, int64_t n) {
    return from_f16_bits(first_halves(x, n));
  }
  static PARLANCE_INLINE F widen_bf16(const std::byte* x) { return from_bf16_bits(vld1_u16(halves(x))); }
  static PARLANCE_INLINE F widen_bf16_first(const std::byte* x, int64_t n) {
    return from_bf16_bits(first_halves(x, n));
  }
  static PARLANCE_INLINE F widen_i8(const std::byte* x) {
    uint32_t four;
    std::memcpy(&four, x, sizeof four);
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
  }
  static PARLANCE_INLINE F broadcast_f16(const std::byte* x) {
    uint16_t bits;
    std::memcpy(&bits, x, sizeof bits);
    return from_f16_bits(vdup_n_u16(bits));
  }

  using I = uint32x4_t;
  static PARLANCE_INLINE I byte_codes(const std::byte* x) {
    uint32_t four;
    std::memcpy(&four, x, sizeof four);
    return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
  }
  static PARLANCE_INLINE I high_nibbles(I codes) { return vshrq_n_u32(codes, 4); }
  static PARLANCE_INLINE I nibble_codes(const std::byte* x) {
    uint16_t four;
    std::memcpy(&four, x, sizeof four);
    return fields<4>(four);
  }
  static PARLANCE_INLINE I fields_of_3(uint64_t bits) { return fields<3>(static_cast<uint32_t>(bits)); }
  static PARLANCE_INLINE F look_up_8(const float* table, I codes) {
    const uint8x16x2_t bytes = {{bytes_of(table), bytes_of(table + 4)}};
    return vreinterpretq_f32_u8(vqtbl2q_u8(bytes, byte_numbers<7>(codes)));
  }
  static PARLANCE_INLINE F look_up_16(const float* table, I codes) {
    const uint8x16x4_t bytes = {
        {bytes_of(table), bytes_of(table + 4), bytes_of(table + 8), bytes_of(table + 12)}};
    return vreinterpretq_f32_u8(vqtbl4q_u8(bytes, byte_numbers<15>(codes)));
  }
  static PARLANCE_INLINE F look_up_512(const float* table, I codes) {
    F x = vld1q_dup_f32(table + (vgetq_lane_u32(codes, 0) & 511));
    x = vld1q_lane_f32(table + (vgetq_lane_u32(codes, 1) & 511), x, 1);
    x = vld1q_lane_f32(table + (vgetq_lane_u32(codes, 2) & 511), x, 2);
    return vld1q_lane_f32(table + (vgetq_lane_u32(codes, 3) & 511), x, 3);
  }
  static PARLANCE_INLINE F signed_by(uint32_t bits, F x) {
    constexpr uint32_t kBits[kWidth] = {1, 2, 4, 8};
    return vbslq_f32(vtstq_u32(vdupq_n_u32(bits), vld1q_u32(kBits)), x, vnegq_f32(x));
  }

  static PARLANCE_INLINE F exp(F x) {
    x = vmaxq_f32(vdupq_n_f32(kExpLowest), vminq_f32(vdupq_n_f32(kExpHighest), x));  // these keep NaN
    const F n = vrndnq_f32(vmulq_f32(x, vdupq_n_f32(kLog2E)));
    F r = vfmsq_f32(x, n, vdupq_n_f32(kLn2High));
    r = vfmsq_f32(r, n, vdupq_n_f32(kLn2Low));
    F p = vfmaq_f32(vdupq_n_f32(kExp5), vdupq_n_f32(kExp6), r);
    p = vfmaq_f32(vdupq_n_f32(kExp4), p, r);
    p = vfmaq_f32(vdupq_n_f32(kExp3), p, r);
    p = vfmaq_f32(vdupq_n_f32(kExp2), p, r);
    p = vfmaq_f32(r, p, vmulq_f32(r, r));
    p = vaddq_f32(p, vdupq_n_f32(1));
    // 2^n in two factors, since one exponent reaches neither infinity nor the smallest subnormal.
    const int32x4_t whole = vcvtq_s32_f32(n);
    const int32x4_t half = vshrq_n_s32(whole, 1);
    return vmulq_f32(vmulq_f32(p, power_of_2(half)), power_of_2(vsubq_s32(whole, half)));
  }

  static PARLANCE_INLINE F exp2(F x) {
    x = vmaxq_f32(vdupq_n_f32(kPowerLowest), x);  // NaN is kept
    const int32x4_t n = vcvtnq_s32_f32(x);
    const F f = vsubq_f32(x, vcvtq_f32_s32(n));
    F p = vfmaq_f32(vdupq_n_f32(kPower4), vdupq_n_f32(kPower5), f);
    p = vfmaq_f32(vdupq_n_f32(kPower3), p, f);
    p = vfmaq_f32(vdupq_n_f32(kPower2), p, f);
    p = vfmaq_f32(vdupq_n_f32(kPower1), p, f);
    p = vfmaq_f32(vdupq_n_f32(1), p, f);
    return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(p), vshlq_n_s32(n, 23)));
  }

  static PARLANCE_INLINE void transpose(F (&rows)[kWidth]) {
    const float64x2_t ab_even = vreinterpretq_f64_f32(vtrn1q_f32(rows[0], rows[1]));
    const float64x2_t ab_odd = vreinterpretq_f64_f32(vtrn2q_f32(rows[0], rows[1]));
    const float64x2_t cd_even = vreinterpretq_f64_f32(vtrn1q_f32(rows[2], rows[3]));
    const float64x2_t cd_odd = vreinterpretq_f64_f32(vtrn2q_f32(rows[2], rows[3]));
    rows[0] = vreinterpretq_f32_f64(vtrn1q_f64(ab_even, cd_even));
    rows[1] = vreinterpretq_f32_f64(vtrn1q_f64(ab_odd, cd_odd));
    rows[2] = vreinterpretq_f32_f64(vtrn2q_f64(ab_even, cd_even));
    rows[3] = vreinterpretq_f32_f64(vtrn2q_f64(ab_odd, cd_odd));
  }

  static PARLANCE_INLINE F sums_of(const F (&rows)[kWidth]) {
    return vpaddq_f32(vpaddq_f32(rows[0], rows[1]), vpaddq_f32(rows[2], rows[3]));
  }

  static PARLANCE_INLINE F quads_of(const float* x) { return vld1q_f32(x); }
  static PARLANCE_INLINE void transpose_quads(F (&)[1]) {}
  static PARLANCE_INLINE void store_quad_sums(float* sums, F a) {
    const float32x2_t pairs = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    *sums = vget_lane_f32(vpadd_f32(pairs, pairs), 0);
  }

 private:
  // Lane i holds the bits from i * width on.
  template <int width>
  static PARLANCE_INLINE I fields(uint32_t bits) {
    constexpr int32_t kShifts[kWidth] = {0, -width, -2 * width, -3 * width};
    return vshlq_u32(vdupq_n_u32(bits), vld1q_s32(kShifts));
  }
  static PARLANCE_INLINE uint8x16_t bytes_of(const float* x) { return vreinterpretq_u8_f32(vld1q_f32(x)); }
  // Where the four bytes of each code's float lie in a table.
  template <uint32_t largest_code>
  static PARLANCE_INLINE uint8x16_t byte_numbers(I codes) {
    const I first = vmulq_n_u32(vandq_u32(codes, vdupq_n_u32(largest_code)), 0x04040404);
    return vreinterpretq_u8_u32(vaddq_u32(first, vdupq_n_u32(0x03020100)));
  }
  static PARLANCE_INLINE const uint16_t* halves(const std::byte* x) {
    return reinterpret_cast<const uint16_t*>(x);
  }
  static PARLANCE_INLINE uint16x4_t first_halves(const std::byte* x, int64_t n) {
    uint16_t copy[kWidth] = {};
    std::memcpy(copy, x, static_cast<size_t>(n) * sizeof(uint16_t));
    return vld1_u16(copy);
  }
  static PARLANCE_INLINE F from_f16_bits(uint16x4_t x) { return vcvt_f32_f16(vreinterpret_f16_u16(x)); }
  static PARLANCE_INLINE F from_bf16_bits(uint16x4_t x) { return vreinterpretq_f32_u32(vshll_n_u16(x, 16)); }
  static PARLANCE_INLINE F power_of_2(int32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
  }
};

}  // namespace parlance::simd

#endif
