// How keys and values are written into a cache, byte for byte as the scalar definitions of quant/ do: sums
// run in their order, and no product is fused with a sum.
#pragma once

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

// ---- Blocks. x is shared memory of the warp; `code` is lane i's of value i. ----

// Lane i has element i of the block.
__device__ inline void encode_q8_0(float x, std::byte* block, int lane) {
  const float d = __fdiv_rn(max_of_warp(fabsf(x)), 127.0f);
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
  for (int i = 0; i < n; ++i) sum = __fadd_rn(sum, term(i));
  return sum;
}

// The first value of largest magnitude.
__device__ inline float largest_of(const float* x, int n) {
  float largest = 0;
  for (int i = 0; i < n; ++i) {
    if (fabsf(x[i]) > fabsf(largest)) largest = x[i];
  }
  return largest;
}

// The step of the candidate (a lane's) with the largest gain above 0, the first of equal ones; otherwise
// `fallback`.
__device__ inline float best_step_of_warp(bool is_candidate, float gain, float step, float fallback,
                                          int lane) {
  if (!(is_candidate && gain > 0)) gain = 0, step = fallback, lane = -1;
  for (int mask = 1; mask < 32; mask *= 2) {
    const float other_gain = __shfl_xor_sync(kAllLanes, gain, mask);
    const float other_step = __shfl_xor_sync(kAllLanes, step, mask);
    const int other_lane = __shfl_xor_sync(kAllLanes, lane, mask);
    if (other_gain > gain || (other_gain == gain && other_lane < lane))
      gain = other_gain, step = other_step, lane = other_lane;
  }
  return step;
}

__device__ inline void encode_q4_0(const float* x, bool is_searched, std::byte* block, int lane) {
  constexpr int kCandidates = 9;
  const float whole = __fdiv_rn(largest_of(x, 32), -8.0f);
  float d = whole;
  int code = 0;
  if (is_searched) {
    const float step = __fmul_rn(whole, __fadd_rn(0.7f, __fmul_rn(0.05f, static_cast<float>(lane))));
    float product = 0, squares = 0;
    for (int i = 0; i < 32; ++i) {
      const float nearest = rintf(__fdiv_rn(x[i], step));
      const float level = nearest < -8 ? -8 : nearest > 7 ? 7 : nearest;
      product = __fadd_rn(product, __fmul_rn(x[i], level));
      squares = __fadd_rn(squares, __fmul_rn(level, level));
    }
    const float gain = __fdiv_rn(__fmul_rn(product, product), squares);
    d = __half2float(__float2half_rn(best_step_of_warp(lane < kCandidates && step != 0 && squares > 0, gain,
                                                       __fdiv_rn(product, squares), whole, lane)));
    const float nearest = rintf(__fmul_rn(x[lane], d != 0 ? __fdiv_rn(1.0f, d) : 0.0f));
    const float level = nearest < -8 ? -8 : nearest > 7 ? 7 : nearest;
    code = static_cast<int>(level == level ? level : 0) + 8;
  } else {
    const float scaled = __fadd_rn(__fmul_rn(x[lane], d != 0 ? __fdiv_rn(1.0f, d) : 0.0f), 8.5f);
    code = min(15, fabsf(scaled) < 0x1p22f ? static_cast<int>(truncf(scaled)) : 0);
  }
  put_nibbles(block + 2, code & 15, lane);
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(d);
}

// nearest_code() of quant/codebook.h, and the level that it stands for.
struct NearestLevel {
  int code;
  float level;
};
template <int n>
struct Codebook;
template <>
struct Codebook<8> {
  static constexpr Table<8> kLevels = kCodebook3;
};
template <>
struct Codebook<16> {
  static constexpr Table<16> kLevels = kCodebook4;
};
template <int n>
__device__ inline NearestLevel nearest_level(float v) {
  constexpr Table<n> kLevels = Codebook<n>::kLevels;
  if (v >= kLevels.of[n - 1]) return {n - 1, kLevels.of[n - 1]};
  int low = 0;
  float below = kLevels.of[0], above = kLevels.of[1];
#pragma unroll
  for (int i = 1; i + 1 < n; ++i) {
    if (kLevels.of[i] <= v) low = i, below = kLevels.of[i], above = kLevels.of[i + 1];
  }
  if (v <= kLevels.of[0] || __fsub_rn(v, below) <= __fsub_rn(above, v)) return {low, below};
  return {low + 1, above};
}

// y: transformed.
template <int n>
__device__ inline void encode_tbq(const float* y, bool is_searched, std::byte* block, int lane) {
  const float squares = sum_in_order(32, [&](int i) { return __fmul_rn(y[i], y[i]); });
  float d = __fsqrt_rn(__fdiv_rn(squares, 32.0f));
  if (is_searched) {
    const float step =
        __fmul_rn(d, __fadd_rn(kLeastStep, __fmul_rn(kStepIncrement, static_cast<float>(lane))));
    float product = 0, level_squares = 0;
    for (int i = 0; i < 32; ++i) {
      const float level = nearest_level<n>(__fdiv_rn(y[i], step)).level;
      product = __fadd_rn(product, __fmul_rn(y[i], level));
      level_squares = __fadd_rn(level_squares, __fmul_rn(level, level));
    }
    const float gain = __fdiv_rn(__fmul_rn(product, product), level_squares);
    d = best_step_of_warp(lane < kStepCandidates && step > 0 && product > 0, gain,
                          __fdiv_rn(product, level_squares), d, lane);
    d = __half2float(__float2half_rn(d));
  }
  const int code = d != 0 ? nearest_level<n>(__fmul_rn(y[lane], __fdiv_rn(1.0f, d))).code : 0;
  if constexpr (n == 16) {
    put_nibbles(block + 2, code, lane);
  } else {
    put_three_bits(block + 2, code, lane);
  }
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(d);
}

// x [128] is lost.
__device__ inline void encode_polar(float* x, bool is_searched, std::byte* block, int lane) {
  constexpr float kLeastLength = 1e-10f;
  double squares = 0;
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
  for (int byte = lane; byte < 64; byte += 32)
    block[2 + byte] = static_cast<std::byte>(code_of(x[2 * byte]) | code_of(x[2 * byte + 1]) << 4);
  float residual = 0, product = 0, level_squares = 0;
  for (int i = 0; i < 128; ++i) {
    const float level = kPolarLevels.of[code_of(x[i])];
    residual = __fadd_rn(residual, __fmul_rn(__fsub_rn(x[i], level), kPolarResidualSigns.of[i]));
    if (!is_searched) continue;
    product = __fadd_rn(product, __fmul_rn(x[i], level));
    level_squares = __fadd_rn(level_squares, __fmul_rn(level, level));
  }
  if (lane < 16) block[66 + lane] = static_cast<std::byte>(lane == 0 && residual >= 0 ? 1 : 0);
  const float l2 = is_searched ? __fdiv_rn(__fmul_rn(length, product), level_squares) : length;
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(l2);
}

__device__ inline void encode_qjl(const float* projection, const float* x, std::byte* block, int lane) {
  constexpr int kOwn = kSketchOut / 32;
  float sums[kOwn] = {};
  for (int i = 0; i < kSketchIn; ++i) {
#pragma unroll
    for (int j = 0; j < kOwn; ++j)
      sums[j] = __fadd_rn(sums[j], __fmul_rn(x[i], projection[i * kSketchOut + j * 32 + lane]));
  }
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    const unsigned signs = __ballot_sync(kAllLanes, sums[j] > 0);
    if (lane < 4) block[4 * j + lane] = static_cast<std::byte>(signs >> (8 * lane));
  }
  const float squares = sum_in_order(kSketchIn, [&](int i) { return __fmul_rn(x[i], x[i]); });
  if (lane == 0) *reinterpret_cast<__nv_bfloat16*>(block + 32) = __float2bfloat16_rn(__fsqrt_rn(squares));
}

// What the search for a path keeps in shared memory of a warp.
struct TrellisRoom {
  static constexpr int kLows = kTrellisSize / 8;
  float cost[kTrellisSize];
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

  for (int i = lane; i < kTrellisSize; i += 32) room.cost[i] = 0;
  __syncwarp();
  for (int t = 0; t < kSteps; ++t) {
    float best[kOwn];
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      const int low = own * 32 + lane;
      int from = 0;
      best[own] = room.cost[8 * low];
      for (int p = 1; p < 8; ++p) {
        const float cost = room.cost[8 * low + p];
        if (cost < best[own]) best[own] = cost, from = p;
      }
      room.came_from[t][low] = static_cast<uint8_t>(from);
    }
    __syncwarp();
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      for (int symbol = 0; symbol < 8; ++symbol) {
        const int state = symbol * kLows + own * 32 + lane;
        const float distance = __fsub_rn(x[t], kTrellisLevels[state]);
        room.cost[state] = __fadd_rn(best[own], __fmul_rn(distance, distance));
      }
    }
    __syncwarp();
  }

  // The first state of least cost.
  float least = room.cost[lane];
  int state = lane;
  for (int i = lane + 32; i < kTrellisSize; i += 32) {
    if (room.cost[i] < least) least = room.cost[i], state = i;
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

// Bytes of shared memory that a warp needs to encode one.
__host__ __device__ inline int encoding_room(const Side& side) {
  const int of_vector = (side.head_dim * static_cast<int>(sizeof(float)) + 15) / 16 * 16;
  return of_vector + (side.format == KvFormat::tbq3_tcq ? static_cast<int>(sizeof(TrellisRoom)) : 0);
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

// The whole vector in x, which is lost; `x` is the beginning of encoding_room() bytes.
__device__ inline void encode_whole(const Side& side, float* x, std::byte* row, int lane) {
  const int n = side.head_dim;
  if (side.is_rotated) rotate_by_warp(x, n, lane);
  switch (side.format) {
    case KvFormat::q4_0:
      for (int i = 0; i < n / 32; ++i)
        encode_q4_0(x + 32 * i, side.is_searched, row + i * sizeof(BlockQ4_0), lane);
      break;
    case KvFormat::tbq3_0:
    case KvFormat::tbq4_0:
      to_stored_by_warp(KvTransform::signed_hadamard_32, x, n, lane);
      for (int i = 0; i < n / 32; ++i) {
        if (side.format == KvFormat::tbq3_0) {
          encode_tbq<8>(x + 32 * i, side.is_searched, row + i * sizeof(BlockTbq3_0), lane);
        } else {
          encode_tbq<16>(x + 32 * i, side.is_searched, row + i * sizeof(BlockTbq4_0), lane);
        }
      }
      break;
    case KvFormat::tbq3_tcq: {
      auto& room = *reinterpret_cast<TrellisRoom*>(reinterpret_cast<std::byte*>(x) + encoding_room(side) -
                                                   sizeof(TrellisRoom));
      for (int i = 0; i < n / 128; ++i) encode_tcq(x + 128 * i, room, row + i * sizeof(BlockTbq3Tcq), lane);
      break;
    }
    case KvFormat::qjl1_256:
      for (int i = 0; i < n / 128; ++i)
        encode_qjl(side.projection, x + 128 * i, row + i * sizeof(BlockQjl1_256), lane);
      break;
    case KvFormat::q4_polar:
    case KvFormat::q4_polar_residual:
      for (int i = 0; i < n / 128; ++i)
        encode_polar(x + 128 * i, side.is_searched, row + i * sizeof(BlockQ4Polar), lane);
      break;
    default:
      for (int i = lane; i < side.n_chunks * kChunk; i += 32)
        encode_plain(side.format, i < n ? x[i] : 0.0f, i < n, i, row, lane);
  }
  __syncwarp();
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
  encode_whole(side, x, row_of(side, places, row / places.n_head_kv, row % places.n_head_kv), lane);
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
