// Queries on their way to registers of a PackedWorker, as columns of tiles: halves, or planes of bits where
// keys are signs.
#pragma once

#include "kernels/cuda/attention/codes.cuh"
#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/packed_layout.cuh"
#include "kernels/cuda/kv_transform.cuh"
#include "kernels/cuda/reduce.cuh"

namespace parlance::cuda::attention {

// A query is rounded to f16 as a multiple of a power of two, which brings its largest element to 8..16, so
// that few digits are lost whatever queries are like: what it is multiplied with, and scores.
struct QueryScale {
  float up, down;

  __device__ explicit QueryScale(float largest) {
    constexpr int kBias = 127, kWanted = kBias + 3;
    const int exponent = min(max(static_cast<int>(__float_as_uint(largest) >> 23), 4), 253);
    up = __uint_as_float((kWanted + kBias - exponent) << 23);
    down = __uint_as_float((exponent - kWanted + kBias) << 23);
  }
};

// Which columns rows are.
template <int kRows>
struct RowColumns {
  static constexpr int kTiles = (kRows + 7) / 8;
  // Rows that a lane has a column of in a tile's results: of few rows one, and the next column is nobody's.
  static constexpr int kSides = kRows <= 4 ? 1 : 2, kTileRows = 4 * kSides;

  __device__ static int own_row(int side) { return threadIdx.x % 4 * kSides + side; }
  // Of the column that this lane has of what keys or values are multiplied with; nobody's: kTileRows.
  __device__ static int row_of_column() {
    const int column = threadIdx.x % 32 / 4;
    return kSides == 2 ? column : column % 2 == 0 ? column / 2 : kTileRows;
  }
};

template <int kRows>
struct QueryNumbers {
  static constexpr int kNumbers = RowColumns<kRows>::kTiles * RowColumns<kRows>::kTileRows;
  int totals[kNumbers];     // of a row's projections, where these are integers
  float factors[kNumbers];  // of a row's scores
};

// A row of a head of 128 as it meets stored keys, of which a lane has an element of each unit of 32, becomes
// halves: store(unit, slot of the lane's elements, bits). Returns what its scores are to be multiplied with.
template <class K, int kUnits, class Store>
__device__ float store_halves(const float (&x)[kUnits], int lane, const Store& store) {
  static_assert([] {
    for (int i = 0; i < 32; ++i) {
      if (K::slot(K::place(0, i / 2, i % 2)) != i) return false;
    }
    return true;
  }());
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kUnits; ++i) largest = fmaxf(largest, fabsf(x[i]));
  const QueryScale scale(max_of_magnitudes(largest));
  const int slot = K::slot(lane);
#pragma unroll
  for (int i = 0; i < kUnits; ++i) store(i, slot, __half_as_ushort(__float2half_rn(x[i] * scale.up)));
  return scale.down;
}

// In shared memory from `address` on, as the fragments that lanes load. kByRows: a warp turns whole rows into
// halves, of heads of 128 that meet keys of one known format.
template <int kRows, int kHeadDim, bool kByRows>
struct QueryFragments {
  using Columns = RowColumns<kRows>;
  static constexpr int kTiles = Columns::kTiles, kTileRows = Columns::kTileRows, kSteps = kHeadDim / 16;

  const Params& p;
  QueryNumbers<kRows>& numbers;
  const uint32_t address;

  // By the whole block, which has to wait for itself then. with_k: calls its visitor with the format of keys;
  // room: kHeadDim floats for each row.
  template <class WithK>
  __device__ void store(const BlockRows& rows, float* room, int warp, const WithK& with_k) const {
    const auto exists = [&](int row) { return row < kRows && rows.exists(row); };
    const auto query_of = [&](int row) {
      return p.q + (static_cast<int64_t>(rows.token(row)) * p.n_head + rows.head(row)) * p.head_dim_k;
    };
    with_k([&](auto format) {
      if constexpr (decltype(format)::value == KvFormat::qjl1_256) {  // projections, which are stored ones
#pragma unroll 1
        for (int row = warp; row < kTiles * kTileRows; row += kPackedWarps)
          store_planes(row, exists(row) ? query_of(row) : nullptr);
      } else if constexpr (kByRows) {
        store_rows<decltype(format)::value>(rows, warp);
      } else {
        const bool is_stored = p.k_transform == KvTransform::none;
        if (!is_stored) {
          for (int row = warp; row < kRows && rows.exists(row); row += kPackedWarps) {
            float* const x = room + row * kHeadDim;
            for (int i = lane(); i < kHeadDim; i += 32) x[i] = query_of(row)[i];
            __syncwarp();
            to_stored_by_warp(p.k_transform, x, kHeadDim, lane());
          }
          __syncthreads();
        }
        const auto query_at = [&](int row) -> const float* {
          if (!exists(row)) return nullptr;
          return is_stored ? query_of(row) : room + row * kHeadDim;
        };
        for (int tile = warp; tile < kTiles; tile += kPackedWarps)
          store_tile<decltype(format)::value>(tile, query_at(tile * kTileRows + Columns::row_of_column()));
      }
    });
  }

  // Of this lane, of sixteen elements.
  __device__ void load(int tile, int step, uint32_t (&b)[2]) const {
    load_at(of_step<kSteps>(tile, step), b);
  }
  // Planes 2 pair and 2 pair + 1 of four rows, the first or second ones of a tile.
  __device__ void load_planes(int tile, int half, int pair, uint32_t (&b)[2]) const {
    load_at(of_planes(tile, half, pair), b);
  }

 private:
  __device__ static int lane() {
    return threadIdx.x % 32;
  }

  // Rows of this warp, one of each tile; zeros where there is none.
  template <KvFormat format>
  __device__ void store_rows(const BlockRows& rows, int warp) const {
    constexpr int kUnits = 4, kHalfBytes = 2;
    static_assert(kHeadDim == 32 * kUnits && kTileRows == kPackedWarps);
    float x[kTiles * kUnits];
#pragma unroll
    for (int i = 0; i < kTiles * kUnits; ++i) {
      const int row = i / kUnits * kTileRows + warp;
      const auto at = (static_cast<int64_t>(rows.token(row)) * p.n_head + rows.head(row)) * kHeadDim;
      x[i] = row < kRows && rows.exists(row) ? p.q[at + i % kUnits * 32 + lane()] : 0.0f;
    }
    to_stored_of_warp(p.k_transform, x, lane());
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const auto store_half = [&](int unit, int slot, uint16_t bits) {
        const uint32_t at = of_step<kSteps>(tile, slot / 4, warp * kUnits + unit) + slot % 4 * kHalfBytes;
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(bits) : "memory");
      };
      const float(&of_row)[kUnits] = reinterpret_cast<const float(&)[kUnits]>(x[tile * kUnits]);
      const float down = store_halves<Codes<format, 16>>(of_row, lane(), store_half);
      if (lane() == 0) numbers.factors[tile * kTileRows + warp] = down * p.scale;
    }
  }

  // A row's halves, by four lanes; null: zeros.
  template <KvFormat format>
  __device__ void store_tile(int tile, const float* q) const {
    constexpr int kPairs = kKeyPairs<kHeadDim>;
    using K = Codes<format, kPairs>;
    const int first_place = K::place(lane() % 4, 0, 0);
    float x[kPairs][2], largest = 0;
#pragma unroll
    for (int t = 0; t < kPairs; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        x[t][half] = q ? q[first_place + K::place(0, t, half)] : 0.0f;
        largest = fmaxf(largest, fabsf(x[t][half]));
      }
    }
    for (int mask = 1; mask < 4; mask *= 2)
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, mask));
    const QueryScale scale(largest);
#pragma unroll
    for (int t = 0; t < kPairs; t += 2) {
      const uint32_t first = bits_of(__floats2half2_rn(x[t][0] * scale.up, x[t][1] * scale.up));
      const uint32_t second = bits_of(__floats2half2_rn(x[t + 1][0] * scale.up, x[t + 1][1] * scale.up));
      asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(of_step<kSteps>(tile, t / 2)), "r"(first),
                   "r"(second)
                   : "memory");
    }
    const int row = Columns::row_of_column();
    if (lane() % 4 == 0 && row < kTileRows) numbers.factors[tile * kTileRows + row] = scale.down * p.scale;
  }

  // Of a row of projections, by a warp; null: zeros. They become integers of kPlanes bits, and these planes,
  // two of them for each of four rows in a fragment.
  __device__ void store_planes(int row, const float* q) const {
    constexpr int kWords = kSketchOut / 32, kMost = (1 << (kPlanes - 1)) - 1;
    float x[kWords], largest = 0;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      x[word] = q ? q[32 * word + lane()] : 0.0f;
      largest = max_or_nan(largest, fabsf(x[word]));
    }
    largest = __uint_as_float(__reduce_max_sync(0xffffffff, __float_as_uint(largest)));
    constexpr float kLeast = 1e-30f;
    const float up = largest <= kLeast ? 0.0f : kMost / largest;
    int total = 0;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      const int rounded = __float2int_rn(x[word] * up);
      total += rounded;
      uint32_t own = 0;  // plane of this lane's number
#pragma unroll
      for (int plane = 0; plane < kPlanes; ++plane) {
        const uint32_t bits = __ballot_sync(0xffffffff, rounded >> plane & 1);
        if (lane() == plane) own = bits;
      }
      const int column = row % 4 * 2 + lane() % 2;
      const uint32_t at =
          of_planes(row / kTileRows, row % kTileRows / 4, lane() / 2) + (column * 4 + word / 2 - lane()) * 8;
      if (lane() < kPlanes)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(at + word % 2 * 4), "r"(own) : "memory");
    }
    total = __reduce_add_sync(0xffffffff, total);
    if (lane() != 0) return;
    numbers.factors[row] = largest <= kLeast ? 0.0f : largest / kMost * p.scale;
    numbers.totals[row] = total;
  }

  // Addresses of a lane's fragments: of one step of so many, and of planes.
  template <int n_steps>
  __device__ uint32_t of_step(int tile, int step, int lane) const {
    return address + ((tile * n_steps + step) * 32 + lane) * 8;
  }
  template <int n_steps>
  __device__ uint32_t of_step(int tile, int step) const {
    return of_step<n_steps>(tile, step, lane());
  }
  __device__ uint32_t of_planes(int tile, int half, int pair) const {
    return of_step<kSketchOut / 16>(tile, half * (kPlanes / 2) + pair);
  }
  __device__ static void load_at(uint32_t at, uint32_t (&b)[2]) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(at));
  }
};

}  // namespace parlance::cuda::attention
