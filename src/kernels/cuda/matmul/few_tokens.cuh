// A few tokens rounded to bytes, once for all weights that they meet: what quantised_few.cu copies to shared
// memory.
#pragma once

#include <vector_types.h>

#include <cstdint>

#include "kernels/cuda/matmul/row_tiles.cuh"
#include "kernels/op_table.h"

namespace parlance::cuda {

inline constexpr int kColumnTokens = 8;  // of a column of tiles

// Where the bytes of a unit lie, of `columns` columns of tokens. A token's codes begin in other banks than
// the one's before. A scale is the step of a run of a token, and what IntegerZeros are with weights of an
// offset of 8; sums, which types with minimums need, are step * sum of the codes of each half of a run.
struct UnitLayout {
  static constexpr int kCodeStride = kQuantisedUnitValues + 16;  // from token to token
  static constexpr int kColumnCodes = kColumnTokens * kCodeStride;
  static constexpr int kColumnScales = kUnitRuns * kColumnTokens * static_cast<int>(sizeof(float2));
  int columns;

  __host__ __device__ int codes(int column) const { return column * kColumnCodes; }
  // Of all tokens of a column: float2[8 tokens, 8 runs].
  __host__ __device__ int scales(int column) const { return codes(columns) + column * kColumnScales; }
  __host__ __device__ int sums(int column) const { return scales(columns) + column * kColumnScales; }
  __host__ __device__ int bytes(bool has_sums) const { return has_sums ? sums(columns) : scales(columns); }
};

// In scratch memory, unit by unit. Of the tokens that there is room for n_tokens exist: what the others have
// is not set.
struct FewTokens {
  uint8_t* units;
  UnitLayout layout;
  int n_in, n_tokens;

  __host__ __device__ uint8_t* unit(int i) const {
    return units + static_cast<int64_t>(i) * layout.bytes(/*has_sums=*/true);
  }
};

// Normalises them first where `norm`, f32 [n_in], is there. n_in is a multiple of kQuantisedUnitValues; x and
// norm begin at multiples of 16 bytes.
FewTokens round_few(Stream& stream, const Tensor& x, const Tensor& norm, float eps, int columns);

}  // namespace parlance::cuda
