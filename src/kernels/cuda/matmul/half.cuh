// What the kernels for f16 and bf16 weights share: how x becomes two such floats. They sum products in one
// order: along a part, sixteen values at a time, first with the larger floats of x, then with the smaller.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "kernels/cuda/matmul/mma.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/row_norm.cuh"
#include "kernels/cuda/reduce.cuh"

namespace parlance::cuda {

inline constexpr int kPieceValues = 8;  // of kPieceBytes
inline constexpr int kMmaValues = 16;   // along n_in, of an instruction
inline constexpr int kHalfStride =
    kHalfStepValues + kPieceValues;  // rows of shared memory start in different banks

// For half_gemv, x lies such that 16 bytes are what a lane 4 * g + i takes of token g for two instructions:
// of 32 values, the pairs i of each 8.
inline constexpr int kPairedValues = 2 * kMmaValues;
__host__ __device__ inline int paired_place(int value) {
  const int in_block = value % kPairedValues;
  return value - in_block + in_block % 8 / 2 * 8 + in_block / 8 * 2 + in_block % 2;
}

struct F16Product {
  using Half = __half;
  __device__ static void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    multiply_add_f16(c, a, b0, b1);
  }
};

struct Bf16Product {
  using Half = __nv_bfloat16;
  __device__ static void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    multiply_add_bf16(c, a, b0, b1);
  }
};

// Powers of two by their bits: what rounds x is run once by each kernel, and waits for its instructions most
// of the time, so that there had better be few.
__device__ inline float power_of_two(int exponent) {
  return __int_as_float((exponent + 127) << 23);
}
__device__ inline float inverse_of_power_of_two(float power) {
  return __int_as_float((2 * 127 << 23) - __float_as_int(power));
}
__device__ inline int exponent_of(float magnitude) {
  return (__float_as_int(magnitude) >> 23) - 127;
}

// A power of two that brings the largest magnitude near the top of f16.
__device__ inline float scale_for_f16(float magnitude) {
  // The inverse must be finite, too.
  constexpr int kTopExponent = 14, kLowestExponent = -100;
  const int exponent =
      magnitude > 0 ? max(exponent_of(fminf(magnitude, 3e38f)), kLowestExponent) : kTopExponent;
  return power_of_two(exponent - kTopExponent);
}

// A warp's part of a token: n values, a multiple of 4. Its lanes hold so many pieces of four, and load others
// again, if there may be others.
template <int kHeld, bool kHasOthers>
class PartOfX {
 public:
  __device__ PartOfX(const float* x, int n) : x_(x), n_(n) { load(); }
  // Nothing of it yet.
  struct Later {};
  __device__ PartOfX(const float* x, int n, Later) : x_(x), n_(n) {}
  __device__ void load() {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) held_[i] = i * kApart < n_ ? load(i) : float4{};
  }
  // What of(place) makes of each piece, in place of x.
  template <class Of>
  __device__ void load_each(const Of& of) {
    static_assert(!kHasOthers);
#pragma unroll
    for (int i = 0; i < kHeld; ++i) held_[i] = place(i) < n_ ? of(place(i)) : float4{};
  }

  __device__ float4& first_piece() {
    return held_[0];
  }

  // Of a row's weights for its norm, those of what this lane holds.
  __device__ void load_weights(const float* weight, float4 (&weights)[kHeld]) const {
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      weights[i] = place(i) < n_ ? *reinterpret_cast<const float4*>(weight + place(i)) : float4{};
  }
  // As rms_norm does.
  __device__ void normalise(float scale, const float4 (&weights)[kHeld]) {
    static_assert(!kHasOthers);
#pragma unroll
    for (int i = 0; i < kHeld; ++i) held_[i] = normalised(held_[i], scale, weights[i]);
  }

  // scale_for_f16(), or 1 for bf16, which reaches as far as f32.
  template <class Half>
  __device__ float scale() const {
    if constexpr (std::is_same_v<Half, __nv_bfloat16>) return 1;
    float magnitude = 0;
    for_each_piece(n_, [&](int, const float4& v) {
      magnitude = fmaxf(magnitude, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
    });
    return scale_for_f16(max_of_magnitudes(magnitude));
  }

  // Calls visit(place, first, second) for each four of n_padded values: both halves of them, as two pairs
  // each; those that do not exist are zero.
  template <class Half, class Visit>
  __device__ void for_each_halved(int n_padded, float scale, const Visit& visit) const {
    const float inverse = inverse_of_power_of_two(scale);
    for_each_piece(n_padded, [&](int at, const float4& v) {
      const float values[4] = {v.x * inverse, v.y * inverse, v.z * inverse, v.w * inverse};
      union {
        Half halves[4];
        uint32_t pairs[2];
      } high, low;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        high.halves[j] = static_cast<Half>(values[j]);
        low.halves[j] = static_cast<Half>(values[j] - static_cast<float>(high.halves[j]));
      }
      visit(at, high.pairs, low.pairs);
    });
  }

  // Writes both halves of n_padded values, or where `second` is null the first; those that do not exist are
  // zero.
  template <class Half, bool kIsPaired>
  __device__ void round(int n_padded, float scale, uint16_t* first, uint16_t* second) const {
    // A lane's pieces are whole blocks of paired values apart.
    static_assert(kApart % kPairedValues == 0);
    const auto place_of_pair = [](int value) { return kIsPaired ? paired_place(value) : value; };
    const int places[2] = {place_of_pair(place(0)), place_of_pair(place(0) + 2)};
    for_each_halved<Half>(n_padded, scale, [&](int at, const uint32_t(&high)[2], const uint32_t(&low)[2]) {
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const int to = places[pair] + (at - place(0));
        *reinterpret_cast<uint32_t*>(first + to) = high[pair];
        if (second) *reinterpret_cast<uint32_t*>(second + to) = low[pair];
      }
    });
  }

 private:
  static constexpr int kApart = 4 * 32;  // a lane's pieces
  __device__ static int place(int i) {
    return i * kApart + static_cast<int>(threadIdx.x % 32) * 4;
  }
  __device__ float4 load(int i) const {
    return place(i) < n_ ? *reinterpret_cast<const float4*>(x_ + place(i)) : float4{};
  }
  // Of the first n values.
  template <class Visit>
  __device__ void for_each_piece(int n, const Visit& visit) const {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (place(i) < n) visit(place(i), held_[i]);
    }
    if constexpr (kHasOthers) {
      for (int i = kHeld; place(i) < n; ++i) visit(place(i), load(i));
    }
  }

  const float* x_;
  int n_;
  float4 held_[kHeld];
};

}  // namespace parlance::cuda
