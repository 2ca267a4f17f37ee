// A token that the warps of a block round to two 16-bit floats, a part of it each.
#pragma once

#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"

namespace parlance::cuda {

// Pieces of a token that a lane holds: of rows of up to 12288 values, and of 4096.
inline constexpr int kHeldPieces = 12, kFewHeldPieces = 4;

// What a warp has of a token, of blocks (token, its parts) with a warp for each part: nothing before load().
// A lane holds so many pieces of it.
template <int kHeld>
struct WarpPart {
  int token, part;
  int first;     // value of the part
  int n_padded;  // values, those that whole steps have more included
  PartOfX<kHeld, (kHeld == kHeldPieces)> values;

  __device__ WarpPart(const float* x, int n_in, int n_tokens, const Parts& parts)
      : token(blockIdx.x),
        part(static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x) / 32),
        first(part * n_part(parts)),
        n_padded(
            min(n_part(parts), (n_in + kHalfStepValues - 1) / kHalfStepValues * kHalfStepValues - first)),
        values(x + static_cast<int64_t>(token) * n_in + first,
               token < n_tokens ? min(n_part(parts), n_in - first) : 0, {}) {}

  // Where tiles of warpgroups have values from `at` of the part on, in their step's tile of tokens.
  __device__ int step(int at) const { return (first + at) / kHalfStepValues; }
  __device__ int place(int at) const {
    return swizzled_place(token, (first + at) % kHalfStepValues / kPieceValues) +
           at % kPieceValues * static_cast<int>(sizeof(uint16_t));
  }

 private:
  __device__ static int n_part(const Parts& parts) { return parts.units * kHalfStepValues; }
};

}  // namespace parlance::cuda
