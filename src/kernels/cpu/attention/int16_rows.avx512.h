// Tiles of many rows in 16-bit integers, included by avx512.cpp after chunks.avx512.h: pairs of them are
// multiplied and summed up without rounding, at twice the speed of f32.
//
// Queries and keys are divided by their length, so that no sum of 32 bits overflows (Cauchy and Schwarz) and
// an outlier costs the other channels little: a score is off by about 1e-5 |q| |k|. Values are divided by the
// largest of their channel in the block, a row's weights by their sum there. What f16 keeps of a key or a
// value is coarser than any of these: of 2048 gaussian positions the result is off by 2e-4 of its rms, by
// 4e-4 with channels twenty times as large as others. What is no number has no integer: it makes the factor
// of its key or channel NaN.

using I = __m512i;
using Ints = __v16si;                 // sums stay in registers only where their type does not change
constexpr float kUnitLength = 32760;  // of a query or key: below 2^15 with all roundings, products below 2^31
constexpr float kLargestValue = 16383;   // below 2^14 and ...
constexpr float kSumOfWeights = 131000;  // ... nearly 2^17: products with both stay below 2^31
constexpr float kLargestWeight = 32767;
constexpr float kLeastSquares = 1e-30f;  // squared lengths count as no less: a zero has none to divide by
constexpr float kLeast = 1e-30f;         // largest weights and values, too
static_assert((int64_t{131000} + kKeyBlock / 2) * 16383 < int64_t{1} << 31);

// Lane by lane, parts of the sum of a row's squares.
template <class Rows>
PARLANCE_SIMD PARLANCE_INLINE F squares_of(const std::byte* row, int64_t n) {
  F sum = Lanes::broadcast(kLeastSquares);
  F low, high;
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk) {
    load_chunk<Rows, true>(row, i, n, low, high);
    sum = Lanes::multiply_add(low, low, Lanes::multiply_add(high, high, sum));
  }
  if (i < n) {
    load_chunk<Rows, false>(row, i, n, low, high);
    sum = Lanes::multiply_add(low, low, Lanes::multiply_add(high, high, sum));
  }
  return sum;
}

// The larger magnitude lane by lane, of which `largest` is one already; NaN, whose bits are above those of
// all others, is kept.
PARLANCE_SIMD PARLANCE_INLINE F larger_magnitude(F largest, F x) {
  return _mm512_castsi512_ps(
      _mm512_max_epi32(_mm512_castps_si512(largest), _mm512_castps_si512(_mm512_abs_ps(x))));
}

// Both vectors times `scale` as 16-bit integers; their order, the same for queries and keys, does not matter.
PARLANCE_SIMD PARLANCE_INLINE I to_int16(F low, F high, F scale) {
  return _mm512_packs_epi32(_mm512_cvtps_epi32(Lanes::multiply(low, scale)),
                            _mm512_cvtps_epi32(Lanes::multiply(high, scale)));
}

// ---- The matrix product ----

// Row r of `out` [n_rows][vectors * 16] = or += row_factors[r] * column_factors * (row r of a times b), where
// a and b hold pairs (for another `Dot`, fours of bytes): a [n_rows][n_pairs], b [n_pairs][vectors * 16].
struct PairProduct {
  const int32_t* row_starts = nullptr;  // what the sums of a row begin with; null: zero
  const int32_t* a;
  int64_t a_stride;
  const int32_t* b;
  int64_t b_stride;
  int64_t n_pairs;
  const float* row_factors;
  const float* column_factors;
  float* out;
  int64_t out_stride;
};

struct PairDot {
  PARLANCE_SIMD static PARLANCE_INLINE I add(I sum, I a, I b) { return _mm512_dpwssd_epi32(sum, a, b); }
};

template <class Dot, int kRows, int kVectors, bool kAccumulate>
PARLANCE_SIMD PARLANCE_INLINE void multiply_pairs_panel(const PairProduct& p, int64_t column) {
  Ints sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = (Ints)_mm512_set1_epi32(p.row_starts ? p.row_starts[r] : 0);
    }
  }
  const int32_t* b = p.b + column;
  for (int64_t k = 0; k < p.n_pairs; ++k, b += p.b_stride) {
    I row[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) row[v] = _mm512_loadu_si512(b + v * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const I x = _mm512_set1_epi32(p.a[r * p.a_stride + k]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = (Ints)Dot::add((I)sums[r][v], x, row[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const F row_factor = Lanes::broadcast(p.row_factors[r]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* out = p.out + r * p.out_stride + column + v * kWidth;
      const F factor = Lanes::multiply(row_factor, Lanes::load(p.column_factors + column + v * kWidth));
      const F sum = _mm512_cvtepi32_ps((I)sums[r][v]);
      Lanes::store(out, kAccumulate ? Lanes::multiply_add(sum, factor, Lanes::load(out))
                                    : Lanes::multiply(sum, factor));
    }
  }
}

template <class Dot, int kRows, bool kAccumulate>
PARLANCE_SIMD void multiply_pairs_rows(const PairProduct& p, int64_t n_vectors) {
  int64_t v = 0;
  for (; v + 4 <= n_vectors; v += 4) multiply_pairs_panel<Dot, kRows, 4, kAccumulate>(p, v * kWidth);
  for (; v < n_vectors; ++v) multiply_pairs_panel<Dot, kRows, 1, kAccumulate>(p, v * kWidth);
}

constexpr int kPairRows = 6;  // 24 sums, 4 vectors of b and one of a: 29 of 32 registers

template <bool kAccumulate, class Dot = PairDot>
PARLANCE_SIMD void multiply_pairs(int64_t n_rows, const PairProduct& p, int64_t n_vectors) {
  switch (n_rows) {
    case 1:
      return multiply_pairs_rows<Dot, 1, kAccumulate>(p, n_vectors);
    case 2:
      return multiply_pairs_rows<Dot, 2, kAccumulate>(p, n_vectors);
    case 3:
      return multiply_pairs_rows<Dot, 3, kAccumulate>(p, n_vectors);
    case 4:
      return multiply_pairs_rows<Dot, 4, kAccumulate>(p, n_vectors);
    case 5:
      return multiply_pairs_rows<Dot, 5, kAccumulate>(p, n_vectors);
    default:
      return multiply_pairs_rows<Dot, kPairRows, kAccumulate>(p, n_vectors);
  }
}

// ---- Queries ----

// A query's pairs; then, on a line of its own, the factor of its scores.
inline int64_t query_pairs(int64_t head_dim) {
  return align_up(head_dim, kChunk) / 2;
}
inline size_t int16_query_bytes(int64_t head_dim) {
  return align_up(static_cast<size_t>(query_pairs(head_dim)) * sizeof(int32_t), size_t{64}) + 64;
}
PARLANCE_INLINE float* query_factor(const Tile& tile, int64_t row) {
  return reinterpret_cast<float*>(tile.query<std::byte>(row + 1) - 64);
}

PARLANCE_SIMD void prepare_int16(const Tile& tile, int64_t row, const float* query, float scale) {
  const auto* bytes = reinterpret_cast<const std::byte*>(query);
  const int64_t n = tile.head_dim_k;
  const float length = std::sqrt(Lanes::sum(squares_of<F32Rows>(bytes, n)));
  const F to_unit = Lanes::broadcast(kUnitLength / length);
  auto* packed = tile.query<int16_t>(row);
  F low, high;
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk) {
    load_chunk<F32Rows, true>(bytes, i, n, low, high);
    _mm512_store_si512(packed + i, to_int16(low, high, to_unit));
  }
  if (i < n) {
    load_chunk<F32Rows, false>(bytes, i, n, low, high);
    _mm512_store_si512(packed + i, to_int16(low, high, to_unit));
  }
  *query_factor(tile, row) = scale * (length + 0 * length) / kUnitLength;  // of an infinite length NaN
}

// ---- Keys ----

struct KeyWorkspace {
  KeyWorkspace(std::byte* memory, int64_t head_dim)
      : pairs(reinterpret_cast<int32_t*>(memory)),
        factors(reinterpret_cast<float*>(pairs + query_pairs(head_dim) * kKeyBlock)) {}
  int32_t* pairs;  // [query_pairs][kKeyBlock]
  float* factors;  // [kKeyBlock]
};

inline size_t int16_key_bytes(int64_t head_dim) {
  return static_cast<size_t>((query_pairs(head_dim) + 1) * kKeyBlock) * sizeof(float);
}

// A chunk of sixteen keys, transposed: pairs [kChunk / 2] rows of kKeyBlock, 16 of them.
template <class Rows, bool kWhole>
PARLANCE_SIMD PARLANCE_INLINE void pack_key_chunk(const std::byte* const (&rows)[kWidth],
                                                  const float (&to_unit)[kWidth], int64_t i, int64_t n,
                                                  int32_t* pairs) {
  F square[kWidth];
#pragma GCC unroll 16
  for (int r = 0; r < kWidth; ++r) {
    F low, high;
    load_chunk<Rows, kWhole>(rows[r], i, n, low, high);
    square[r] = _mm512_castsi512_ps(to_int16(low, high, Lanes::broadcast(to_unit[r])));
  }
  Lanes::transpose(square);
#pragma GCC unroll 16
  for (int r = 0; r < kWidth; ++r) {
    _mm512_storeu_si512(pairs + r * kKeyBlock, _mm512_castps_si512(square[r]));
  }
}

// Sixteen keys as columns j .. j + 15 of the workspace.
template <class Rows>
PARLANCE_SIMD void pack_keys(const std::byte* const (&rows)[kWidth], int64_t n, int64_t j,
                             const KeyWorkspace& packed) {
  F squares[kWidth];
#pragma GCC unroll 16
  for (int r = 0; r < kWidth; ++r) squares[r] = squares_of<Rows>(rows[r], n);
  const F length = number_or_nan(_mm512_sqrt_ps(Lanes::sums_of(squares)));
  Lanes::store(packed.factors + j, Lanes::multiply(length, Lanes::broadcast(1 / kUnitLength)));
  float to_unit[kWidth];
  Lanes::store(to_unit, Lanes::divide(Lanes::broadcast(kUnitLength), length));

  int32_t* pairs = packed.pairs + j;
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk) {
    pack_key_chunk<Rows, true>(rows, to_unit, i, n, pairs + i / 2 * kKeyBlock);
  }
  if (i < n) pack_key_chunk<Rows, false>(rows, to_unit, i, n, pairs + i / 2 * kKeyBlock);
}

template <class Rows>
PARLANCE_SIMD void score_int16(const Tile& tile, const std::byte* keys, int64_t n_keys,
                               const std::byte* next) {
  const KeyWorkspace packed(tile.workspace, tile.head_dim_k);
  for (int64_t j = 0; j < n_keys; j += kWidth) {
    const std::byte* rows[kWidth];
    for (int r = 0; r < kWidth; ++r) {
      rows[r] = keys + static_cast<size_t>(std::min(j + r, n_keys - 1)) * tile.k_row_bytes;
    }
    pack_keys<Rows>(rows, tile.head_dim_k, j, packed);
  }
  for (int64_t row = 0; row < tile.n_rows; row += kPairRows) {
    const int64_t n_rows = std::min<int64_t>(kPairRows, tile.n_rows - row);
    read_ahead(next, row * n_keys / tile.n_rows, (row + n_rows) * n_keys / tile.n_rows, tile.next_bytes);
    float factors[kPairRows];
    for (int64_t r = 0; r < n_rows; ++r) factors[r] = *query_factor(tile, row + r);
    multiply_pairs<false>(n_rows,
                          {.a = tile.query<int32_t>(row),
                           .a_stride = static_cast<int64_t>(tile.query_bytes / sizeof(int32_t)),
                           .b = packed.pairs,
                           .b_stride = kKeyBlock,
                           .n_pairs = query_pairs(tile.head_dim_k),
                           .row_factors = factors,
                           .column_factors = packed.factors,
                           .out = tile.scores + row * kKeyBlock,
                           .out_stride = kKeyBlock},
                          div_up<int64_t>(most_visible(tile, row, n_rows), kWidth));
  }
}

// ---- Values ----

struct ValueWorkspace {
  ValueWorkspace(std::byte* memory, int64_t out_stride)
      : pairs(reinterpret_cast<int32_t*>(memory)),
        factors(reinterpret_cast<float*>(pairs + kKeyBlock / 2 * out_stride)) {}
  int32_t* pairs;  // [kKeyBlock / 2][out_stride]: of values 2 j and 2 j + 1
  float* factors;  // [out_stride]
};

inline size_t int16_value_bytes(int64_t head_dim) {
  return static_cast<size_t>((kKeyBlock / 2 + 1) * align_up(head_dim, kStrideElements)) * sizeof(float);
}

// Channels i .. i + kVectors * kWidth - 1 of a block of values. Those past the end of a row are zero; only a
// single vector may reach there.
template <class Rows, int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void load_columns(const std::byte* row, int64_t i, int64_t n,
                                                F (&x)[kVectors]) {
  if constexpr (kVectors % Rows::kVectors == 0 && kVectors > 1) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v += Rows::kVectors) {
      F step[Rows::kVectors];
      Rows::load(row, i + v * kWidth, step);
#pragma GCC unroll 2
      for (int s = 0; s < Rows::kVectors; ++s) x[v + s] = step[s];
    }
  } else if (i + kWidth <= n) {
    Rows::load(row, i, x);
  } else {
    x[0] = Rows::load_first(row, i, n - i);
  }
}

template <class Rows, int kVectors>
PARLANCE_SIMD void pack_columns(const Tile& tile, const std::byte* values, int64_t n_keys, int64_t i,
                                const ValueWorkspace& packed) {
  const int64_t n = tile.head_dim_v;
  F largest[kVectors], x[kVectors], y[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) largest[v] = Lanes::broadcast(kLeast);
  for (int64_t j = 0; j < n_keys; ++j) {
    load_columns<Rows, kVectors>(values + static_cast<size_t>(j) * tile.v_row_bytes, i, n, x);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) largest[v] = larger_magnitude(largest[v], x[v]);
  }
  F to_int[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    to_int[v] = Lanes::divide(Lanes::broadcast(kLargestValue), largest[v]);
    Lanes::store(packed.factors + i + v * kWidth,
                 Lanes::multiply(largest[v], Lanes::broadcast(1 / kLargestValue)));
  }
  for (int64_t j = 0; j < n_keys; j += 2) {
    const std::byte* row = values + static_cast<size_t>(j) * tile.v_row_bytes;
    load_columns<Rows, kVectors>(row, i, n, x);
    load_columns<Rows, kVectors>(j + 1 < n_keys ? row + tile.v_row_bytes : row, i, n, y);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const I even = _mm512_cvtps_epi32(Lanes::multiply(x[v], to_int[v]));
      const I odd = _mm512_cvtps_epi32(Lanes::multiply(y[v], to_int[v]));
      _mm512_storeu_si512(packed.pairs + j / 2 * tile.out_stride + i + v * kWidth,
                          _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16)));
    }
  }
}

// A row's first n weights as integers, up to a whole vector; returns what one of them stands for.
PARLANCE_SIMD PARLANCE_INLINE float pack_weights(const Tile& tile, int64_t row, int64_t n, int16_t* packed) {
  const float scale = std::min(kLargestWeight / std::max(tile.block_largest[row], kLeast),
                               kSumOfWeights / std::max(tile.block_sum[row], kLeast));
  const F to_int = Lanes::broadcast(scale);
  const float* weights = tile.scores + row * kKeyBlock;
  for (int64_t j = 0; j < n; j += kWidth) {
    const I whole = _mm512_cvtps_epi32(Lanes::multiply(Lanes::load(weights + j), to_int));
    _mm256_store_si256(reinterpret_cast<__m256i*>(packed + j), _mm512_cvtepi32_epi16(whole));
  }
  return 1 / scale;
}

template <class Rows>
PARLANCE_SIMD void accumulate_int16(const Tile& tile, const std::byte* values, int64_t n_keys,
                                    const std::byte* next) {
  const ValueWorkspace packed(tile.workspace, tile.out_stride);
  int64_t i = 0;
  for (; i + 4 * kWidth <= tile.head_dim_v; i += 4 * kWidth) {
    pack_columns<Rows, 4>(tile, values, n_keys, i, packed);
  }
  for (; i < tile.head_dim_v; i += Rows::kVectors * kWidth) {
    pack_columns<Rows, Rows::kVectors>(tile, values, n_keys, i, packed);
  }
  for (int64_t row = 0; row < tile.n_rows; row += kPairRows) {
    const int64_t n_rows = std::min<int64_t>(kPairRows, tile.n_rows - row);
    read_ahead(next, row * n_keys / tile.n_rows, (row + n_rows) * n_keys / tile.n_rows, tile.next_bytes);
    const int64_t n = most_visible(tile, row, n_rows);
    alignas(64) int16_t weights[kPairRows][kKeyBlock];
    float factors[kPairRows];
    for (int64_t r = 0; r < n_rows; ++r) factors[r] = pack_weights(tile, row + r, n, weights[r]);
    multiply_pairs<true>(n_rows,
                         {.a = reinterpret_cast<const int32_t*>(weights),
                          .a_stride = kKeyBlock / 2,
                          .b = packed.pairs,
                          .b_stride = tile.out_stride,
                          .n_pairs = div_up<int64_t>(n, 2),
                          .row_factors = factors,
                          .column_factors = packed.factors,
                          .out = tile.out + row * tile.out_stride,
                          .out_stride = tile.out_stride},
                         tile.out_stride / kWidth);
  }
}

template <class Rows>
constexpr FormatKernels kInt16Rows = {
    .keys = {int16_query_bytes, int16_key_bytes, prepare_int16, score_int16<Rows>},
    .values = {int16_value_bytes, accumulate_int16<Rows>, finish_f32},
};
