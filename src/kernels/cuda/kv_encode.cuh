// How keys and values are written into a cache, byte for byte as the scalar definitions of quant/ do: sums
// run in their order, and no product is fused with a sum. What is not a sum is shared out among lanes, since
// a step that waits for one token's heads waits for the longest chain of operations.
#pragma once

#include <bit>

#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/kv_transform.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/op_table.h"

namespace parlance::cuda {

inline constexpr int kChunk = 32;  // elements of one warp, where head vectors are written in parts

// Keys or values of all tokens, and where they go.
struct Side {
  const float* x;    // (head_dim, n_head_kv, n_tokens)
  std::byte* pages;  // of the layer, at the side's first row
  KvFormat format;
  bool is_searched;         // by KvEncoder::search
  bool is_rotated;          // by KvTransform::hadamard
  const float* projection;  // sketch_projection(), for qjl1_256
  int head_dim;
  int n_chunks;  // of a head vector
  int64_t row_bytes;
};

struct Places {
  const int32_t* page_table;  // (max_pages, n_seq)
  const int32_t* seq;
  const int32_t* pos;
  int64_t max_pages;
  int64_t page_bytes;
  int page_tokens;
  int n_head_kv;
};

// The warps that encode a head vector: one, or all of a block.
struct Team {
  int warp, n_warps, lane;

  __device__ void sync() const {
    if (n_warps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
};

// ---- Blocks of 32, by a warp, of which lane i has element i and, later, its code. ----

// Levels that elements have with so many of the steps that are tried: stored by elements, added up by steps,
// both in banks of their own. All at once takes less time.
template <int kAtOnce>
struct LevelRoom {
  static constexpr int kStride = 36;
  float levels[kAtOnce][kStride];
};
inline constexpr int kAllLevels = 16;

__device__ inline void encode_q8_0(float x, std::byte* block, int lane) {
  const float d = __fdiv_rn(max_or_nan_of_warp(fabsf(x)), 127.0f);
  const float inverse = d != 0 ? __fdiv_rn(1.0f, d) : 0.0f;
  const float scaled = __fmul_rn(x, inverse);
  const int code = isfinite(scaled) ? static_cast<int>(roundf(scaled)) : 0;
  reinterpret_cast<int8_t*>(block)[2 + lane] = static_cast<int8_t>(code);
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(d);
}

__device__ inline void put_nibbles(std::byte* codes, int code, int lane) {
  const int high = __shfl_down_sync(kAllLanes, code, 16);
  if (lane < 16) codes[lane] = static_cast<std::byte>(code | high << 4);
}
__device__ inline void put_three_bits(std::byte* codes, int code, int lane) {
  unsigned bits = static_cast<unsigned>(code) << (3 * (lane % 8));  // eight codes are three bytes
  for (int mask = 1; mask < 8; mask *= 2) bits |= __shfl_xor_sync(kAllLanes, bits, mask);
  if (lane % 8 < 3) codes[lane / 8 * 3 + lane % 8] = static_cast<std::byte>(bits >> (8 * (lane % 8)));
}

template <class Term>
__device__ inline float sum_in_order(int n, const Term& term) {
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < n; ++i) sum = __fadd_rn(sum, term(i));
  return sum;
}

// The first value of largest magnitude, which NaN has.
__device__ inline float largest_of_warp(float x) {
  const unsigned magnitude = __float_as_uint(fabsf(x));
  const unsigned largest = __reduce_max_sync(kAllLanes, magnitude);
  const unsigned lanes = __ballot_sync(kAllLanes, magnitude == largest);
  return __shfl_sync(kAllLanes, x, __ffs(static_cast<int>(lanes)) - 1);
}

// The step of the candidate (a lane's) with the largest gain above 0, the first of equal ones; otherwise
// `fallback`.
__device__ inline float best_step_of_warp(bool is_candidate, float gain, float step, float fallback) {
  const unsigned rank = is_candidate && gain > 0 ? __float_as_uint(gain) : 0;
  const unsigned best = __reduce_max_sync(kAllLanes, rank);
  const unsigned lanes = __ballot_sync(kAllLanes, rank == best);
  return best == 0 ? fallback : __shfl_sync(kAllLanes, step, __ffs(static_cast<int>(lanes)) - 1);
}

// Quotients by numbers that are the same for all lanes, correctly rounded: by what __fdiv_rn() does where
// nothing can become too large or too small. Without its way out for other numbers several run side by side.
struct Quotient {
  float divisor, inverse;

  // Whether all of a warp's numbers are such that their quotients may be had so.
  __device__ static bool serves(float x) {
    const float size = fabsf(x);
    return __all_sync(kAllLanes, x == 0 || (size > 0x1p-60f && size < 0x1p60f));
  }
  __device__ explicit Quotient(float divisor) : divisor(divisor) {
    float about;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(about) : "f"(divisor));
    inverse = __fmaf_rn(about, __fmaf_rn(-divisor, about, 1.0f), about);
  }
  __device__ float of(float x) const {
    float quotient = __fmul_rn(x, inverse);
#pragma unroll
    for (int i = 0; i < 2; ++i) quotient = __fmaf_rn(inverse, __fmaf_rn(-divisor, quotient, x), quotient);
    return quotient;
  }
};

// The sum of 32 numbers' products with 32 others, in order. Both are shared memory, at multiples of 16 bytes.
__device__ inline float dot_in_order(const float* numbers, const float* others) {
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < 32; i += 4) {
    const float4 x = *reinterpret_cast<const float4*>(numbers + i);
    const float4 y = *reinterpret_cast<const float4*>(others + i);
    sum = __fadd_rn(sum, __fmul_rn(x.x, y.x));
    sum = __fadd_rn(sum, __fmul_rn(x.y, y.y));
    sum = __fadd_rn(sum, __fmul_rn(x.z, y.z));
    sum = __fadd_rn(sum, __fmul_rn(x.w, y.w));
  }
  return sum;
}

// Of the step that is tried as number `lane`: sums of x level and of level^2, in order. x [32] is shared
// memory, at a multiple of 16 bytes; level_of(x / step_of(candidate)) is that of the lane's own element.
template <int n_candidates, int kAtOnce, class StepOf, class LevelOf>
__device__ inline void sum_levels(LevelRoom<kAtOnce>& room, const float* x, int lane, const StepOf& step_of,
                                  const LevelOf& level_of, float& product, float& squares) {
  const Quotient of_own_step(step_of(lane));
  const bool is_usual = Quotient::serves(x[lane]) && Quotient::serves(step_of(lane));
  const float* const own = room.levels[lane % kAtOnce];
  product = squares = 0;
  // What is computed of steps that are no candidates is not looked at. The compiler knows how often the inner
  // loop runs: that of CUDA 13.0 unrolls by three what it does not know of as if that were a multiple.
  constexpr int n = n_candidates < kAtOnce ? n_candidates : kAtOnce, kUnrolled = n % 3 == 0 ? 3 : 4;
  static_assert(n % kUnrolled == 0);
#pragma unroll 1  // code that is not there takes longer to come than to run
  for (int first = 0; first < n_candidates; first += n) {
    if (is_usual) {
#pragma unroll kUnrolled
      for (int i = 0; i < n; ++i) {
        Quotient quotient = of_own_step;
        quotient.divisor = __shfl_sync(kAllLanes, of_own_step.divisor, first + i);
        quotient.inverse = __shfl_sync(kAllLanes, of_own_step.inverse, first + i);
        room.levels[i][lane] = level_of(quotient.of(x[lane]));
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < n; ++i) room.levels[i][lane] = level_of(__fdiv_rn(x[lane], step_of(first + i)));
    }
    __syncwarp();
    // Of a step, one lane has the products, one the squares.
    const float sum = dot_in_order(lane / kAtOnce % 2 == 0 ? x : own, own);
    __syncwarp();
    const float of_x = __shfl_sync(kAllLanes, sum, lane % kAtOnce);
    const float of_level = __shfl_sync(kAllLanes, sum, kAtOnce + lane % kAtOnce);
    if (lane / kAtOnce == first / kAtOnce) product = of_x, squares = of_level;
  }
}

// `elements`: shared memory.
template <int kAtOnce>
__device__ inline void encode_q4_0(const float* elements, bool is_searched, LevelRoom<kAtOnce>& room,
                                   std::byte* block, int lane) {
  constexpr int kCandidates = 9;
  const float x = elements[lane];
  const float whole = __fdiv_rn(largest_of_warp(x), -8.0f);
  float d = whole;
  int code = 0;
  if (is_searched) {
    const auto step_of = [&](int candidate) {
      return __fmul_rn(whole, __fadd_rn(0.7f, __fmul_rn(0.05f, static_cast<float>(candidate))));
    };
    const auto level_of = [&](float scaled) {
      const float nearest = rintf(scaled);
      return nearest < -8 ? -8 : nearest > 7 ? 7 : nearest;
    };
    float product, squares;
    sum_levels<kCandidates>(room, elements, lane, step_of, level_of, product, squares);
    const float gain = __fdiv_rn(__fmul_rn(product, product), squares);
    d = best_step_of_warp(lane < kCandidates && step_of(lane) != 0 && squares > 0, gain,
                          __fdiv_rn(product, squares), whole);
    d = __half2float(__float2half_rn(d));
    const float level = level_of(__fmul_rn(x, d != 0 ? __fdiv_rn(1.0f, d) : 0.0f));
    code = static_cast<int>(level == level ? level : 0) + 8;
  } else {
    const float scaled = __fadd_rn(__fmul_rn(x, d != 0 ? __fdiv_rn(1.0f, d) : 0.0f), 8.5f);
    code = min(15, fabsf(scaled) < 0x1p22f ? static_cast<int>(truncf(scaled)) : 0);
  }
  put_nibbles(block + 2, code & 15, lane);
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(d);
}

// The largest float whose nearest code (quant/codebook.h) is no more than i: what is above it has a higher
// one, since both distances that are compared there are monotonic, rounded or not.
template <size_t n>
constexpr float last_of_code(const Table<n>& levels, size_t i) {
  const float below = levels.of[i], above = levels.of[i + 1];
  float low = below, high = above;  // the code of the former is i, of the latter i + 1
  for (int step = 0; step < 64; ++step) {
    const auto middle = static_cast<float>((static_cast<double>(low) + high) / 2);
    if (middle <= low || middle >= high) break;
    const auto to_below = static_cast<float>(static_cast<double>(middle) - below);
    const auto to_above = static_cast<float>(static_cast<double>(above) - middle);
    (to_below <= to_above ? low : high) = middle;
  }
  return low;
}
template <size_t n>
constexpr Table<n - 1> last_of_codes(const Table<n>& levels) {
  Table<n - 1> table{};
  for (size_t i = 0; i + 1 < n; ++i) table.of[i] = last_of_code(levels, i);
  return table;
}

// Of codes below the middle, from there on: magnitudes of numbers below zero that are larger have the next
// one.
template <size_t n>
constexpr Table<n / 2 - 1> last_below_zero(const Table<n - 1>& last) {
  Table<n / 2 - 1> table{};
  for (size_t i = 0; i + 1 < n / 2; ++i)
    table.of[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(-last.of[n / 2 - 2 - i]) - 1);
  return table;
}
template <size_t n>
constexpr bool is_symmetric(const Table<n>& levels) {
  for (size_t i = 0; i < n; ++i) {
    if (levels.of[i] != -levels.of[n - 1 - i]) return false;
  }
  return true;
}

template <int n>
struct Codebook;
template <>
struct Codebook<8> {
  static constexpr Table<8> kLevels = kCodebook3;
  static constexpr Table<7> kLast = last_of_codes(kCodebook3);
  static constexpr Table<3> kLastBelow = last_below_zero<8>(kLast);
  static_assert(is_symmetric(kLevels));
};
template <>
struct Codebook<16> {
  static constexpr Table<16> kLevels = kCodebook4;
  static constexpr Table<15> kLast = last_of_codes(kCodebook4);
  static constexpr Table<7> kLastBelow = last_below_zero<16>(kLast);
  static_assert(is_symmetric(kLevels));
};

// The levels of nearest_code() (quant/codebook.h) for multiples of a number by what is not negative: half as
// many comparisons find them, since those of both signs are the same. What lies between two of them may have
// the other one there.
template <int n>
class LevelsOfSign {
  static constexpr int kHalf = n / 2;

 public:
  __device__ explicit LevelsOfSign(float x) {
    constexpr Table<n - 1> kLast = Codebook<n>::kLast;
    constexpr Table<kHalf - 1> kLastBelow = Codebook<n>::kLastBelow;
#pragma unroll
    for (int i = 0; i + 1 < kHalf; ++i) last_[i] = x > 0 ? kLast.of[kHalf + i] : kLastBelow.of[i];
  }
  __device__ float nearest(float v) const {
    constexpr Table<n> kLevels = Codebook<n>::kLevels;
    constexpr float kLastOfLow = Codebook<n>::kLast.of[kHalf - 1];
    const float magnitude = fabsf(v);
    float level = kLevels.of[kHalf];
#pragma unroll
    for (int i = 0; i + 1 < kHalf; ++i) level = magnitude > last_[i] ? kLevels.of[kHalf + i + 1] : level;
    return v > kLastOfLow ? level : -level;
  }
  // Its code; NaN has the one that nearest_code() says.
  __device__ int code(float v) const {
    constexpr float kLastOfLow = Codebook<n>::kLast.of[kHalf - 1];
    const float magnitude = fabsf(v);
    int further = 0;
#pragma unroll
    for (int i = 0; i + 1 < kHalf; ++i) further += magnitude > last_[i];
    return v != v ? 1 : v > kLastOfLow ? kHalf + further : kHalf - 1 - further;
  }

 private:
  float last_[kHalf - 1];  // of the number's sign: larger magnitudes have the next level
};

// `elements`: shared memory, which is transformed.
template <int n, int kAtOnce>
__device__ inline void encode_tbq(float* elements, bool is_searched, LevelRoom<kAtOnce>& room,
                                  std::byte* block, int lane) {
  float own[] = {elements[lane]};
  signed_hadamard_32_of_warp(own, lane);
  const float y = elements[lane] = own[0];
  __syncwarp();
  float d = __fsqrt_rn(__fmul_rn(dot_in_order(elements, elements), 1.0f / 32));
  const LevelsOfSign<n> levels(y);
  if (is_searched) {
    const auto step_of = [&](int candidate) {
      return __fmul_rn(d, __fadd_rn(kLeastStep, __fmul_rn(kStepIncrement, static_cast<float>(candidate))));
    };
    float product, level_squares;
    const auto level_of = [&](float v) { return levels.nearest(v); };
    sum_levels<kStepCandidates>(room, elements, lane, step_of, level_of, product, level_squares);
    const float gain = __fdiv_rn(__fmul_rn(product, product), level_squares);
    d = best_step_of_warp(lane < kStepCandidates && step_of(lane) > 0 && product > 0, gain,
                          __fdiv_rn(product, level_squares), d);
    d = __half2float(__float2half_rn(d));
  }
  const int code = d != 0 ? levels.code(__fmul_rn(y, __fdiv_rn(1.0f, d))) : 0;
  if constexpr (n == 16) {
    put_nibbles(block + 2, code, lane);
  } else {
    put_three_bits(block + 2, code, lane);
  }
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(d);
}

// A block of one of the formats that have blocks of 32.
__host__ __device__ constexpr bool has_blocks_of_32(KvFormat format) {
  return format == KvFormat::q8_0 || format == KvFormat::q4_0 || format == KvFormat::tbq3_0 ||
         format == KvFormat::tbq4_0;
}
template <KvFormat format, int kAtOnce>
__device__ inline void encode_block_of_32(float* elements, bool is_searched, LevelRoom<kAtOnce>& room,
                                          std::byte* block, int lane) {
  if constexpr (format == KvFormat::q8_0) {
    encode_q8_0(elements[lane], block, lane);
  } else if constexpr (format == KvFormat::q4_0) {
    encode_q4_0(elements, is_searched, room, block, lane);
  } else {
    static_assert(format == KvFormat::tbq3_0 || format == KvFormat::tbq4_0);
    encode_tbq<format == KvFormat::tbq3_0 ? 8 : 16>(elements, is_searched, room, block, lane);
  }
}

// ---- Blocks of 128, by a warp. x is shared memory of it. ----

// Three numbers for each element, for lanes to add up.
struct PolarRoom {
  float terms[3][128];
};

// x [128] is lost.
__device__ inline void encode_polar(float* x, bool is_searched, PolarRoom& room, std::byte* block, int lane) {
  constexpr float kLeastLength = 1e-10f;
  double squares = 0;
#pragma unroll 16
  for (int i = 0; i < 128; ++i)
    squares = __dadd_rn(squares, __dmul_rn(static_cast<double>(x[i]), static_cast<double>(x[i])));
  const auto length = static_cast<float>(__dsqrt_rn(squares));
  const float inverse = length > kLeastLength ? __fdiv_rn(1.0f, length) : 0.0f;
  __syncwarp();
  multiply_by_warp(x, 128, lane, [&](int) { return inverse; });
  hadamard_by_warp(x, 128, 128, lane);
  constexpr Table<15> kBoundaries = kPolarCodeBounds;
  const auto code_of = [&](float v) {
    int code = 0;
#pragma unroll
    for (int i = 0; i < 15; ++i) code += kBoundaries.of[i] < v;
    return code;
  };
#pragma unroll
  for (int byte = lane; byte < 64; byte += 32) {
    int codes[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = 2 * byte + half;
      codes[half] = code_of(x[i]);
      const float level = kPolarLevels.of[codes[half]];
      room.terms[0][i] = __fmul_rn(__fsub_rn(x[i], level), kPolarResidualSigns.of[i]);
      room.terms[1][i] = __fmul_rn(x[i], level);
      room.terms[2][i] = __fmul_rn(level, level);
    }
    block[2 + byte] = static_cast<std::byte>(codes[0] | codes[1] << 4);
  }
  __syncwarp();
  const float* const terms = room.terms[min(lane, 2)];
  float sum = 0;
#pragma unroll 16
  for (int i = 0; i < 128; ++i) sum = __fadd_rn(sum, terms[i]);
  const float residual = __shfl_sync(kAllLanes, sum, 0);
  const float product = __shfl_sync(kAllLanes, sum, 1), level_squares = __shfl_sync(kAllLanes, sum, 2);
  if (lane < 16) block[66 + lane] = static_cast<std::byte>(lane == 0 && residual >= 0 ? 1 : 0);
  const float l2 = is_searched ? __fdiv_rn(__fmul_rn(length, product), level_squares) : length;
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(l2);
}

// Warps of a team share the projections.
__device__ inline void encode_qjl(const float* projection, const float* x, std::byte* block,
                                  const Team& team) {
  constexpr int kAtOnce = 2, kWords = kSketchOut / 32;
  const int lane = team.lane;
  for (int first = team.warp * kAtOnce; first < kWords; first += team.n_warps * kAtOnce) {
    float sums[kAtOnce] = {};
#pragma unroll 16
    for (int i = 0; i < kSketchIn; ++i) {
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        sums[j] = __fadd_rn(sums[j], __fmul_rn(x[i], projection[i * kSketchOut + (first + j) * 32 + lane]));
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const unsigned signs = __ballot_sync(kAllLanes, sums[j] > 0);
      if (lane < 4) block[4 * (first + j) + lane] = static_cast<std::byte>(signs >> (8 * lane));
    }
  }
  if (team.warp != team.n_warps - 1) return;
  const float squares = sum_in_order(kSketchIn, [&](int i) { return __fmul_rn(x[i], x[i]); });
  if (lane == 0) *reinterpret_cast<__nv_bfloat16*>(block + 32) = __float2bfloat16_rn(__fsqrt_rn(squares));
}

// What the search for a path keeps in shared memory of a warp.
struct TrellisRoom {
  static constexpr int kLows = kTrellisSize / 8;
  float cost[2][kTrellisSize];
  uint8_t came_from[128][kLows];
  uint8_t symbols[128];
};

// The algorithm of Viterbi: see quant/tbq3_tcq.cpp. x [128] is lost.
__device__ inline void encode_tcq(float* x, TrellisRoom& room, std::byte* block, int lane) {
  constexpr float kLeastLength = 1e-10f;
  constexpr int kSteps = 128, kLows = TrellisRoom::kLows, kOwn = kLows / 32;
  const float length = __fsqrt_rn(sum_in_order(kSteps, [&](int i) { return __fmul_rn(x[i], x[i]); }));
  const float inverse = length > kLeastLength ? __fdiv_rn(1.0f, length) : 0.0f;
  __syncwarp();
  multiply_by_warp(x, kSteps, lane, [&](int) { return inverse; });
  multiply_by_warp(x, kSteps, lane, [](int i) { return kSignsBefore128.of[i]; });
  hadamard_by_warp(x, kSteps, kSteps, lane);
  multiply_by_warp(x, kSteps, lane, [](int) { return kInverseRoot128; });
  multiply_by_warp(x, kSteps, lane, [](int i) { return kSignsAfter128.of[i]; });

  float levels[kOwn][8];
#pragma unroll
  for (int own = 0; own < kOwn; ++own) {
#pragma unroll
    for (int symbol = 0; symbol < 8; ++symbol)
      levels[own][symbol] = kTrellisLevels[symbol * kLows + own * 32 + lane];
  }
  for (int i = lane; i < kTrellisSize; i += 32) room.cost[0][i] = 0;
  __syncwarp();
  for (int t = 0; t < kSteps; ++t) {
    const float value = x[t];
    const float* const before = room.cost[t % 2];
    float* const after = room.cost[1 - t % 2];
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      const int low = own * 32 + lane;
      const float4 first = *reinterpret_cast<const float4*>(before + 8 * low);
      const float4 second = *reinterpret_cast<const float4*>(before + 8 * low + 4);
      const float costs[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
      int from = 0;
      float best = costs[0];
#pragma unroll
      for (int p = 1; p < 8; ++p) {
        if (costs[p] < best) best = costs[p], from = p;
      }
      room.came_from[t][low] = static_cast<uint8_t>(from);
#pragma unroll
      for (int symbol = 0; symbol < 8; ++symbol) {
        const float distance = __fsub_rn(value, levels[own][symbol]);
        after[symbol * kLows + low] = __fadd_rn(best, __fmul_rn(distance, distance));
      }
    }
    __syncwarp();
  }

  // The first state of least cost.
  static_assert(kSteps % 2 == 0);
  const float(&costs)[kTrellisSize] = room.cost[0];
  float least = costs[lane];
  int state = lane;
  for (int i = lane + 32; i < kTrellisSize; i += 32) {
    if (costs[i] < least) least = costs[i], state = i;
  }
  for (int mask = 1; mask < 32; mask *= 2) {
    const float other = __shfl_xor_sync(kAllLanes, least, mask);
    const int other_state = __shfl_xor_sync(kAllLanes, state, mask);
    if (other < least || (other == least && other_state < state)) least = other, state = other_state;
  }
  for (int t = kSteps - 1; t >= 0; --t) {
    if (lane == 0) room.symbols[t] = static_cast<uint8_t>(state / kLows);
    state = state % kLows * 8 + room.came_from[t][state % kLows];
  }
  __syncwarp();
  // Bits: six of the first state, then three a step.
  const auto bit_at = [&](int bit) {
    if (bit < 6) return state >> 3 >> bit & 1;
    return bit < 6 + 3 * kSteps ? room.symbols[(bit - 6) / 3] >> ((bit - 6) % 3) & 1 : 0;
  };
  for (int byte = lane; byte < 50; byte += 32) {
    int bits = 0;
    for (int i = 0; i < 8; ++i) bits |= bit_at(8 * byte + i) << i;
    block[2 + byte] = static_cast<std::byte>(bits);
  }
  int at = state;
  const float squares = sum_in_order(kSteps, [&](int t) {
    at = at >> 3 | room.symbols[t] << 6;
    return __fmul_rn(kTrellisLevels[at], kTrellisLevels[at]);
  });
  const float decoded = __fsqrt_rn(squares);
  const float norm = decoded > kLeastLength ? __fdiv_rn(length, decoded) : length;
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(norm);
}

// ---- Head vectors ----

// Bytes of shared memory that a team needs to encode one: the vector, then what its warps need.
__host__ __device__ inline int vector_room(const Side& side) {
  return (side.head_dim * static_cast<int>(sizeof(float)) + 15) / 16 * 16;
}
__host__ __device__ inline int encoding_room(const Side& side, int n_warps = 1) {
  switch (side.format) {
    case KvFormat::q4_0:
    case KvFormat::tbq3_0:
    case KvFormat::tbq4_0:
      return vector_room(side) + n_warps * static_cast<int>(sizeof(LevelRoom<kAllLevels>));
    case KvFormat::tbq3_tcq:
      return vector_room(side) + static_cast<int>(sizeof(TrellisRoom));
    case KvFormat::q4_polar:
    case KvFormat::q4_polar_residual:
      return vector_room(side) + static_cast<int>(sizeof(PolarRoom));
    default:
      return vector_room(side);
  }
}

// Whether a head vector is encoded as a whole, in shared memory.
__host__ __device__ inline bool is_encoded_whole(const Side& side) {
  return side.format > KvFormat::q8_0 || side.is_rotated;
}

// Of one part of a vector, where each lane has a value, if there is one.
__device__ inline void encode_plain(KvFormat format, float x, bool is_inside, int i, std::byte* row,
                                    int lane) {
  if (format == KvFormat::q8_0) {
    encode_q8_0(x, row + i / kChunk * kQ8Bytes, lane);
  } else if (is_inside) {
    if (format == KvFormat::f32) reinterpret_cast<float*>(row)[i] = x;
    if (format == KvFormat::f16) reinterpret_cast<__half*>(row)[i] = __float2half_rn(x);
    if (format == KvFormat::bf16) reinterpret_cast<__nv_bfloat16*>(row)[i] = __float2bfloat16_rn(x);
  }
}

// The whole vector in x, which is there for all of the team and lost; `x` is the beginning of encoding_room()
// bytes.
__device__ inline void encode_whole(const Side& side, float* x, std::byte* row, const Team& team) {
  const int n = side.head_dim, lane = team.lane;
  if (side.is_rotated) {
    if (team.warp == 0) rotate_by_warp(x, n, lane);
    team.sync();
  }
  std::byte* const room = reinterpret_cast<std::byte*>(x) + vector_room(side);
  auto& levels = reinterpret_cast<LevelRoom<kAllLevels>*>(room)[team.warp];
  const bool is_first = team.warp == 0;
  switch (side.format) {
    case KvFormat::q4_0:
      for (int i = team.warp; i < n / 32; i += team.n_warps)
        encode_q4_0(x + 32 * i, side.is_searched, levels, row + i * sizeof(BlockQ4_0), lane);
      break;
    case KvFormat::tbq3_0:
      for (int i = team.warp; i < n / 32; i += team.n_warps)
        encode_tbq<8>(x + 32 * i, side.is_searched, levels, row + i * sizeof(BlockTbq3_0), lane);
      break;
    case KvFormat::tbq4_0:
      for (int i = team.warp; i < n / 32; i += team.n_warps)
        encode_tbq<16>(x + 32 * i, side.is_searched, levels, row + i * sizeof(BlockTbq4_0), lane);
      break;
    case KvFormat::tbq3_tcq:
      for (int i = 0; is_first && i < n / 128; ++i)
        encode_tcq(x + 128 * i, *reinterpret_cast<TrellisRoom*>(room), row + i * sizeof(BlockTbq3Tcq), lane);
      break;
    case KvFormat::qjl1_256:
      for (int i = 0; i < n / 128; ++i)
        encode_qjl(side.projection, x + 128 * i, row + i * sizeof(BlockQjl1_256), team);
      break;
    case KvFormat::q4_polar:
    case KvFormat::q4_polar_residual:
      for (int i = 0; is_first && i < n / 128; ++i)
        encode_polar(x + 128 * i, side.is_searched, *reinterpret_cast<PolarRoom*>(room),
                     row + i * sizeof(BlockQ4Polar), lane);
      break;
    default:
      for (int i = lane; is_first && i < side.n_chunks * kChunk; i += 32)
        encode_plain(side.format, i < n ? x[i] : 0.0f, i < n, i, row, lane);
  }
  team.sync();
}

// The bytes of head `head` of a token.
__device__ inline std::byte* row_of(const Side& side, const Places& places, int64_t token, int64_t head) {
  const int pos = places.pos[token];
  const int64_t page = places.page_table[places.seq[token] * places.max_pages + pos / places.page_tokens];
  return side.pages + page * places.page_bytes +
         (head * places.page_tokens + pos % places.page_tokens) * side.row_bytes;
}

// A part of the vector, or all of it (n_chunks is 1) with the help of shared memory.
__device__ inline void encode_chunk(const Side& side, const Places& places, int64_t index, int lane) {
  const int64_t row = index / side.n_chunks;  // of all heads of all tokens
  const int i = static_cast<int>(index % side.n_chunks) * kChunk + lane;
  std::byte* const out = row_of(side, places, row / places.n_head_kv, row % places.n_head_kv);
  const bool is_inside = i < side.head_dim;
  const float x = is_inside ? side.x[row * side.head_dim + i] : 0.0f;
  encode_plain(side.format, x, is_inside, i, out, lane);
}

__device__ inline void encode_row(const Side& side, const Places& places, int64_t row, std::byte* room,
                                  int lane) {
  auto* const x = reinterpret_cast<float*>(room);
  for (int i = lane; i < side.head_dim; i += 32) x[i] = side.x[row * side.head_dim + i];
  __syncwarp();
  encode_whole(side, x, row_of(side, places, row / places.n_head_kv, row % places.n_head_kv), {0, 1, lane});
}

// ---- From arguments ----

// The view whose pages new positions are written to.
inline const KvView& written_view(const KvView& kv) {
  return kv.exact ? *kv.exact : kv;
}

// `x`: (head_dim, n_head_kv, n_tokens), or null.
Side keys_of(Stream& stream, const KvView& kv, const float* x);
Side values_of(Stream& stream, const KvView& kv, const float* x);

inline Places places_of(const KvView& kv, const BatchView& batch) {
  return {kv.page_table.as<const int32_t>(),   batch.seq.as<const int32_t>(),
          batch.pos.as<const int32_t>(),       kv.page_table.ne[0],
          static_cast<int64_t>(kv.page_bytes), kv.page_tokens,
          static_cast<int>(kv.n_head_kv)};
}

}  // namespace parlance::cuda
