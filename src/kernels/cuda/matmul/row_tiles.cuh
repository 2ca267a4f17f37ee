// How one token's products with quantised weights are shared out: a lane of a warp has a part of a row, whose
// runs it takes one after the other, so that the sums are those of quantised_gemv; as many lanes as there are
// parts have a row, and a warp's lanes a tile of rows.
#pragma once

#include "kernels/cuda/matmul/copy.cuh"
#include "kernels/cuda/matmul/rounded_token.cuh"
#include "kernels/cuda/matmul/run_terms.cuh"

namespace parlance::cuda {

inline constexpr int kUnitRuns = kQuantisedUnitValues / kRunValues;

template <class Type>
constexpr int kUnitBytes = kUnitRuns / Type::kBlockRuns* Type::kBlockBytes;

// Whether a unit becomes registers by loads of 16 bytes.
template <class Type>
constexpr bool kHasWholePieces = kUnitBytes<Type> % kPieceBytes == 0;

// Pieces of a unit that begins anywhere.
template <class Type>
constexpr int kUnitPieces = staged_bytes(kUnitBytes<Type>) / kPieceBytes;

// How lanes share the rows of a tile, and warps a block's tiles.
struct RowShape {
  int n_units;         // of a row
  int n_parts;         // of a row
  int part_units;      // of a part; the last one may have fewer
  int log_part_lanes;  // of a row's lanes: as many as the power of two from n_parts on
  int strips;          // of a tile: rows of one weight; two where gates meet what they let through
  int log_strip_rows;
  int units_at_once;  // of a lane, that arrive together
  int lane_bytes;     // what they take in shared memory

  __host__ __device__ int stage_bytes() const { return 32 * lane_bytes; }
  __host__ __device__ int strip_rows() const { return 1 << log_strip_rows; }
  __host__ __device__ int tile_rows() const { return 32 >> log_part_lanes; }
};

template <class Type>
constexpr int kOffsetOf = [] {
  if constexpr (requires { Type::kOffset; }) {
    return Type::kOffset;
  } else {
    return 0;
  }
}();

inline TokenLayout token_layout(const RowShape& shape) {
  return TokenLayout(shape.part_units * kUnitRuns, shape.n_parts);
}

// A warp's tile: rows from first_row on of one output, or of both that meet.
struct Tile {
  int first_row, n_rows;
  const uint8_t *first_strip, *second_strip;

  __device__ Tile(const Products& p, const RowShape& shape, int tile)
      : Tile(p, shape, tile, output_of_tile(p, tile)) {}
  __device__ Tile(const Products& p, const RowShape& shape, int tile, const Output& output) {
    first_row = (tile - output.first_tile) << shape.log_strip_rows;
    n_rows = min(shape.strip_rows(), output.n_out - first_row);
    first_strip = output.weight + first_row * output.row_bytes;
    second_strip = p.is_gated ? p.outputs[1].weight + first_row * output.row_bytes : nullptr;
  }
  __device__ const uint8_t* strip(int i) const { return i == 0 ? first_strip : second_strip; }
};

// A lane's part of a tile. Lanes next to each other have the same part of a strip's rows: what they load of
// the token is the same.
struct LanePlace {
  int part, strip, of_strip, n_units;  // units that it has, and the row of the strip

  __device__ LanePlace(const RowShape& shape, int lane) {
    const int piece = lane >> shape.log_strip_rows;  // strip by strip, its parts
    strip = piece >> shape.log_part_lanes;
    part = piece & ((1 << shape.log_part_lanes) - 1);
    of_strip = lane & (shape.strip_rows() - 1);
    n_units = part < shape.n_parts ? min(shape.part_units, shape.n_units - part * shape.part_units) : 0;
  }
  __device__ bool exists(const Tile& tile) const { return of_strip < tile.n_rows; }
  template <class Type>
  __device__ const uint8_t* find(const RowShape& shape, const Tile& tile, int row_bytes, int unit) const {
    return tile.strip(strip) + of_strip * row_bytes + (part * shape.part_units + unit) * kUnitBytes<Type>;
  }
};

// sum + the products of four unsigned bytes and four signed ones.
__device__ inline int dot_of_unsigned(uint32_t a, uint32_t b, int sum) {
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}

template <class Type>
__device__ void add_run(float& sum, const Run& w, const uint8_t* x_codes, const RunScale& x_scale) {
  const uint4 a = reinterpret_cast<const uint4*>(x_codes)[0], b = reinterpret_cast<const uint4*>(x_codes)[1];
  const uint32_t words[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  float2 terms[kTerms<Type>];
  multiply_run<Type>(w, words, x_scale, terms);
#pragma unroll
  for (int term = 0; term < kTerms<Type>; ++term) sum = fmaf(terms[term].x, terms[term].y, sum);
}

// The same of a run whose nibbles are taken as they are: x_scale has what they are too much by.
__device__ inline void add_nibbles(float& sum, const uint32_t (&low)[4], const uint32_t (&high_times_16)[4],
                                   float step, const uint8_t* x_codes, const RunScale& x_scale) {
  const uint4 a = reinterpret_cast<const uint4*>(x_codes)[0], b = reinterpret_cast<const uint4*>(x_codes)[1];
  const uint32_t first[4] = {a.x, a.y, a.z, a.w}, second[4] = {b.x, b.y, b.z, b.w};
  int of_low = x_scale.half_sums, of_high = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    of_low = __dp4a(static_cast<int>(low[i]), static_cast<int>(first[i]), of_low);
    of_high = dot_of_unsigned(high_times_16[i], second[i], of_high);
  }
  sum = fmaf(static_cast<float>(of_low + (of_high >> 4)), __fmul_rn(step, x_scale.step), sum);
}

// Adds the runs of a unit, one after the other.
template <class Type>
__device__ void add_unit(float& sum, const uint8_t* unit, const uint8_t* x_codes, const RunScale* x_scales) {
  if constexpr (kHasWholePieces<Type>) {
    constexpr int kWords = kUnitBytes<Type> / 4;
    uint32_t words[kWords];
#pragma unroll
    for (int i = 0; i < kWords; i += 4) {
      const uint4 piece = *reinterpret_cast<const uint4*>(unit + 4 * i);
      words[i] = piece.x, words[i + 1] = piece.y, words[i + 2] = piece.z, words[i + 3] = piece.w;
    }
#pragma unroll
    for (int run = 0; run < kUnitRuns; ++run) {
      const WordsAt<kWords> block{words, run / Type::kBlockRuns * Type::kBlockBytes};
      if constexpr (kOffsetOf<Type> != 0) {
        uint32_t low[4], high[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) load_raw_nibbles(at_word(block + 2, i), low[i], high[i]);
        add_nibbles(sum, low, high, load_f16(block), x_codes + run * kRunValues, x_scales[run]);
      } else {
        Run w;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          uint32_t two[2];
          Type::unpack_words(block, run % Type::kBlockRuns, i, two);
          w.codes[i] = two[0], w.codes[i + 4] = two[1];
        }
        Type::unpack_scales(block, run % Type::kBlockRuns, w);
        add_run<Type>(sum, w, x_codes + run * kRunValues, x_scales[run]);
      }
    }
  } else {
#pragma unroll
    for (int run = 0; run < kUnitRuns; ++run) {
      Run w;
      Type::unpack(unit + run / Type::kBlockRuns * Type::kBlockBytes, run % Type::kBlockRuns, w);
      add_run<Type>(sum, w, x_codes + run * kRunValues, x_scales[run]);
    }
  }
}

}  // namespace parlance::cuda
