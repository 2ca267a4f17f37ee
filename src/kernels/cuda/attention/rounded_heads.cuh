// Heads on their way to RoundedHeads.
#pragma once

#include "kernels/cuda/attention/mma.cuh"
#include "kernels/cuda/attention/rounded_heads.h"
#include "kernels/cuda/matmul/copy.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/rotate.cuh"

namespace parlance::cuda::attention {

struct SegmentRows {
  int first, n;      // tokens
  int first_padded;  // row
};

__device__ inline SegmentRows segment_of(const RoundedHeads& p, int i) {
  constexpr int kAlignedRows = kSwizzledRows;
  const int first = p.bounds[i];
  return {first, p.bounds[i + 1] - first, first / kAlignedRows * kAlignedRows + kAlignedRows * i};
}

// The row of a token; of the one behind the last, that behind all rows.
__device__ inline int row_of(const RoundedHeads& p, int token) {
  for (int i = 0; i < p.n_segments; ++i) {
    const SegmentRows segment = segment_of(p, i);
    if (token < segment.first + segment.n) return token - segment.first + segment.first_padded;
  }
  return p.n_rows;
}

// Queries go from memory to registers: a lane has four halves of sixteen values, those that its registers of
// A hold (mma.cuh), next to each other: 0, 1, 8, 9; 2, 3, 10, 11; and so on. Rests are kRoundedDim behind.
struct QueryRow {
  __device__ static uint16_t* at(const RoundedHeads& p, int head, int row) {
    return p.rounded + (static_cast<int64_t>(head) * p.n_rows + row) * 2 * kRoundedDim;
  }
};

// Keys and values go to shared memory in tiles, by slices of 64 values: (halves and rests, slices, rows).
struct TileRows {
  static constexpr int kSliceValues = 64;  // of a row: tiles of warpgroup.cuh
  static constexpr int kSlices = kRoundedDim / kSliceValues;
  // Bytes from the first row of a head's slices on, of halves and of rests.
  __device__ static uint8_t* at(const RoundedHeads& p, int head_of_both, int part, int slice) {
    const int64_t index = (static_cast<int64_t>(p.n_head + head_of_both) * 2 + part) * kSlices + slice;
    return reinterpret_cast<uint8_t*>(p.rounded) + index * p.n_rows * kSwizzledRowBytes;
  }
};

// Rows of a head, by a warp: from f32 in shared memory they become halves and rests where they lie, and then
// go to memory by whole lines. They are every second one of those that lie there, so that lanes read
// different banks. Eight lanes share a row: each has four of every sixteen values, of a quarter and of the
// one that turns with it.
class HeadRows {
 public:
  static constexpr int kRows = 4;
  static constexpr int kBetween = kRoundedDim + 4, kStride = 2 * kBetween;  // floats
  // Of two warps, each of which has every second row.
  static constexpr int kFloatsOfTwo = kRows * kStride;

  __device__ HeadRows(const RoundedHeads& p, int head)
      : p_(p),
        head_(head),
        is_q_(head < p.n_head),
        is_k_(!is_q_ && head < p.n_head + p.n_head_kv),
        row_(lane() % kRows),
        first_four_(lane() / kRows % 4 + lane() / (4 * kRows) * 8) {
    constexpr int kPieces = TileRows::kSliceValues / 8, kSlices = TileRows::kSlices;
    if (is_q_) {
      to_ = reinterpret_cast<uint8_t*>(QueryRow::at(p, head, 0));
      row_bytes_ = 2 * kRoundedDim * static_cast<int>(sizeof(uint16_t));
      piece_ = lane();
      swizzle_ = 0;
    } else {
      to_ = TileRows::at(p, head - p.n_head, lane() / (kPieces * kSlices), lane() / kPieces % kSlices);
      row_bytes_ = kSwizzledRowBytes;
      piece_ = lane() % kPieces;
      swizzle_ = kSwizzledRows - 1;
    }
    const float* const norm = is_q_ ? p.q_norm : is_k_ ? p.k_norm : nullptr;
    has_norm_ = norm != nullptr;
    each_four([&](int half, int i) {
      if (has_norm_) norm_[half][i] = reinterpret_cast<const float4*>(norm)[four(half, i)];
    });
  }

  __device__ bool is_q() const { return is_q_; }
  // A token's, where they come from.
  __device__ const float* values(int64_t token) const {
    const float* const side = is_q_ ? p_.q : is_k_ ? p_.k : p_.v;
    return side +
           (is_q_ ? token * p_.n_head + head_ : token * p_.n_head_kv + (head_ - p_.n_head) % p_.n_head_kv) *
               p_.head_dim;
  }

  // Has the angles of tokens brought to shared memory, where they lie as rows do: of every token_of(row)
  // below `n_tokens`.
  template <class TokenOf>
  __device__ void fetch_angles(float* room, int n_tokens, const TokenOf& token_of) const {
    if (!turns()) return;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int token = token_of(i);
      if (token < n_tokens)
        copy_piece(room + i * kStride + 4 * lane(),
                   p_.angles + static_cast<int64_t>(token) * kRoundedDim + 4 * lane());
    }
    end_copy_group();
  }

  // Behind fetch_angles(), of which n_pending may be under way that came later.
  template <int n_pending>
  __device__ void round(float* rows, const float* angles) const {
    float* const own = rows + row_ * kStride;
    float x[2][kFours][4];
    each_four(
        [&](int half, int i) { take(x[half][i], reinterpret_cast<const float4*>(own)[four(half, i)]); });
    if (has_norm_) norm(x);
    if (turns()) {
      wait_for_copies<n_pending>();
      __syncwarp();
      turn(x, reinterpret_cast<const float4*>(angles + row_ * kStride));
    }
    __syncwarp();  // others have read what lies here
    each_four([&](int half, int i) {
      uint2 halves, rests;
      split<__half>(x[half][i][0], x[half][i][1], halves.x, rests.x);
      split<__half>(x[half][i][2], x[half][i][3], halves.y, rests.y);
      auto* const to = reinterpret_cast<uint2*>(own) + four(half, i);
      to[0] = halves;
      to[kRoundedDim / 4] = rests;
    });
    __syncwarp();
  }

  // The rounded rows, each to row_of(its number), if that is not below 0.
  template <class RowOf>
  __device__ void store(const float* rows, const RowOf& row_of) const {
    uint4 pieces[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float* const row = rows + i * kStride;
      if (is_q_) {  // see QueryRow
        const auto* const fours = reinterpret_cast<const uint2*>(row) + lane() / 2 * 4 + lane() % 2;
        const uint2 a = fours[0], b = fours[2];
        pieces[i] = make_uint4(a.x, b.x, a.y, b.y);
      } else {
        pieces[i] = reinterpret_cast<const uint4*>(row)[lane()];
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (const int row = row_of(i); row >= 0) *place(row) = pieces[i];
    }
  }
  __device__ void store_zeros(int row) const {
    *place(row) = make_uint4(0, 0, 0, 0);
  }

 private:
  static constexpr int kFours = 2;  // of each quarter

  __device__ static int lane() {
    return static_cast<int>(threadIdx.x) % 32;
  }
  __device__ bool turns() const {
    return p_.angles && (is_q_ || is_k_);
  }
  // Which four values of a row.
  __device__ int four(int half, int i) const {
    return first_four_ + 16 * half + 4 * i;
  }
  template <class Of>
  __device__ static void each_four(const Of& of) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < kFours; ++i) of(half, i);
    }
  }
  __device__ static void take(float (&x)[4], const float4& v) {
    x[0] = v.x;
    x[1] = v.y;
    x[2] = v.z;
    x[3] = v.w;
  }
  // What the lane has, and the one that differs by so many rows' lanes.
  __device__ static float with_other(float own, int lanes) {
    return __fadd_rn(own, __shfl_xor_sync(kAllLanes, own, lanes * kRows));
  }

  // Of kRoundedDim elements; the sum is that of sum_of_squares().
  __device__ void norm(float (&x)[2][kFours][4]) const {
    float sums[2][4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        sums[half][j] =
            __fadd_rn(__fmul_rn(x[half][0][j], x[half][0][j]), __fmul_rn(x[half][1][j], x[half][1][j]));
    }
    float of_quarter[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float(&of)[4] = sums[half];
#pragma unroll
      for (float& sum : of) sum = with_other(sum, 2);
#pragma unroll
      for (float& sum : of) sum = with_other(sum, 1);
      of_quarter[half] = __fadd_rn(__fadd_rn(of[0], of[2]), __fadd_rn(of[1], of[3]));
    }
    const float sum = with_other(__fadd_rn(of_quarter[0], of_quarter[1]), 4);
    const float scale = 1 / sqrtf(sum / static_cast<float>(kRoundedDim) + p_.eps);
    each_four([&](int half, int i) {
      const float4& w = norm_[half][i];
      float(&v)[4] = x[half][i];
      take(v, make_float4(v[0] * scale * w.x, v[1] * scale * w.y, v[2] * scale * w.z, v[3] * scale * w.w));
    });
  }

  // Pairs are halves of the head.
  __device__ void turn(float (&x)[2][kFours][4], const float4* angles) const {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      float cosine[4], sine[4];
      take(cosine, angles[four(0, i)]);
      take(sine, angles[four(1, i)]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float2 turned = rotated(x[0][i][j], x[1][i][j], cosine[j], sine[j]);
        x[0][i][j] = turned.x;
        x[1][i][j] = turned.y;
      }
    }
  }

  // Where the lane's piece of a row goes.
  __device__ uint4* place(int row) const {
    return reinterpret_cast<uint4*>(to_ + static_cast<int64_t>(row) * row_bytes_ +
                                    (piece_ ^ (row & swizzle_)) * static_cast<int>(sizeof(uint4)));
  }

  const RoundedHeads& p_;
  const int head_;
  const bool is_q_, is_k_;
  const int row_, first_four_;
  uint8_t* to_;
  int row_bytes_, piece_, swizzle_;
  bool has_norm_;
  float4 norm_[2][kFours];
};

}  // namespace parlance::cuda::attention
