// Tiles of many rows with AMX, included by amx.cpp after chunks.avx512.h: both products are made of bf16 in
// tiles, where each factor is the sum of two numbers, what bf16 keeps of it and what it keeps of the rest:
// sixteen bits together, of f16 and of codes all there are. Of their four products the one of both rests is
// left out. Three tile instructions take less time than the four vector instructions that would make as many
// products of 16-bit integers.

constexpr int kSide = simd::kTileRows;  // rows of a tile, and its columns
constexpr int64_t kTileBytes = simd::kTileRows * simd::kTileRowBytes;
constexpr int64_t kPartBytes = 2 * kTileBytes;     // 32 of what is summed up over, of both numbers
constexpr int64_t kKeyParts = kKeyBlock / kChunk;  // parts of a block's weights

// 32 values as bf16, and what that leaves of them.
struct TwoNumbers {
  __m512i first, rest;
};

PARLANCE_AMX PARLANCE_INLINE __m512i to_bf16(F low, F high) {
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

// In the order of the values: low, then high.
PARLANCE_AMX PARLANCE_INLINE TwoNumbers split(F low, F high) {
  const __m512i first = to_bf16(low, high);
  const __m256i halves[2] = {_mm512_castsi512_si256(first), _mm512_extracti64x4_epi64(first, 1)};
  const F low_first = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves[0]), 16));
  const F high_first = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves[1]), 16));
  return {first, to_bf16(_mm512_sub_ps(low, low_first), _mm512_sub_ps(high, high_first))};
}

// In pairs of an even and an odd one.
PARLANCE_AMX PARLANCE_INLINE __m512i to_pairs(F even, F odd) {
  alignas(64) static constexpr uint16_t kInTurn[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                       21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                       11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(kInTurn), to_bf16(even, odd));
}
PARLANCE_AMX PARLANCE_INLINE TwoNumbers split_pairs(F even, F odd) {
  const __m512i first = to_pairs(even, odd);
  const F even_first = _mm512_castsi512_ps(_mm512_slli_epi32(first, 16));
  const F odd_first =
      _mm512_castsi512_ps(_mm512_and_si512(first, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
  return {first, to_pairs(_mm512_sub_ps(even, even_first), _mm512_sub_ps(odd, odd_first))};
}

// ---- The matrix product ----

// Rows of a tile: both numbers of 32 values each, part after part.
struct TileRows {
  const std::byte* first;
  const std::byte* rest;
  int64_t stride;       // from one row to the next
  int64_t part_stride;  // from one part to the next
  int64_t second_tile;  // from a tile's first row to the next tile's
};

// c = or += a b: sums are in tiles 0 to 3, of two tiles of rows in 4 and 5 with two of columns in 6 and 7.
template <int kRowTiles, int kColumnTiles, bool kAccumulate>
PARLANCE_AMX PARLANCE_INLINE void multiply_tiles(const TileRows& a, const std::byte* b, int64_t n_parts,
                                                 int64_t b_second_tile, float* c, int64_t c_stride) {
  const int64_t c_bytes = c_stride * static_cast<int64_t>(sizeof(float));
  float* c_second = c + kSide * c_stride;
  if constexpr (kAccumulate) {
    _tile_loadd(0, c, c_bytes);
    if (kColumnTiles > 1) _tile_loadd(1, c + kSide, c_bytes);
    if (kRowTiles > 1) _tile_loadd(2, c_second, c_bytes);
    if (kRowTiles > 1 && kColumnTiles > 1) _tile_loadd(3, c_second + kSide, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t part = 0; part < n_parts; ++part) {
    const std::byte *first = a.first + part * a.part_stride, *rest = a.rest + part * a.part_stride;
    const std::byte *column = b + part * kPartBytes, *column2 = column + b_second_tile;
    _tile_loadd(4, rest, a.stride);
    if (kRowTiles > 1) _tile_loadd(5, rest + a.second_tile, a.stride);
    _tile_loadd(6, column, simd::kTileRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    if (kRowTiles > 1) _tile_dpbf16ps(2, 5, 6);
    if (kColumnTiles > 1) {
      _tile_loadd(7, column2, simd::kTileRowBytes);
      _tile_dpbf16ps(1, 4, 7);
      if (kRowTiles > 1) _tile_dpbf16ps(3, 5, 7);
    }
    _tile_loadd(4, first, a.stride);
    if (kRowTiles > 1) _tile_loadd(5, first + a.second_tile, a.stride);
    _tile_dpbf16ps(0, 4, 6);
    if (kRowTiles > 1) _tile_dpbf16ps(2, 5, 6);
    if (kColumnTiles > 1) _tile_dpbf16ps(1, 4, 7);
    if (kRowTiles > 1 && kColumnTiles > 1) _tile_dpbf16ps(3, 5, 7);
    _tile_loadd(6, column + kTileBytes, simd::kTileRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    if (kRowTiles > 1) _tile_dpbf16ps(2, 5, 6);
    if (kColumnTiles > 1) {
      _tile_loadd(7, column2 + kTileBytes, simd::kTileRowBytes);
      _tile_dpbf16ps(1, 4, 7);
      if (kRowTiles > 1) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, c, c_bytes);
  if (kColumnTiles > 1) _tile_stored(1, c + kSide, c_bytes);
  if (kRowTiles > 1) _tile_stored(2, c_second, c_bytes);
  if (kRowTiles > 1 && kColumnTiles > 1) _tile_stored(3, c_second + kSide, c_bytes);
}

// The same with n_columns tiles of columns, one every column_bytes of b.
template <int kRowTiles, bool kAccumulate>
PARLANCE_AMX PARLANCE_INLINE void multiply_rows_of_tiles(const TileRows& a, const std::byte* b,
                                                         int64_t n_parts, int64_t column_bytes,
                                                         int64_t n_columns, float* c, int64_t c_stride) {
  int64_t column = 0;
  for (; column + 2 <= n_columns; column += 2) {
    multiply_tiles<kRowTiles, 2, kAccumulate>(a, b + column * column_bytes, n_parts, column_bytes,
                                              c + column * kSide, c_stride);
  }
  if (column < n_columns) {
    multiply_tiles<kRowTiles, 1, kAccumulate>(a, b + column * column_bytes, n_parts, 0, c + column * kSide,
                                              c_stride);
  }
}

// Shapes of tiles for rows that are n_rows to a tile.
constexpr simd::TileShapes shapes_of_rows(int n_rows) {
  simd::TileShapes shapes;
  for (int tile = 0; tile < 6; ++tile) shapes.set(tile, n_rows, simd::kTileRowBytes);
  for (int tile = 6; tile < 8; ++tile) shapes.set(tile, kSide, simd::kTileRowBytes);
  return shapes;
}
constexpr std::array<simd::TileShapes, kSide + 1> kRowShapes = [] {
  std::array<simd::TileShapes, kSide + 1> all;
  for (int n_rows = 1; n_rows <= kSide; ++n_rows) all[static_cast<size_t>(n_rows)] = shapes_of_rows(n_rows);
  return all;
}();

// Rows of a tile of attention that are multiplied together: two tiles, one, or what is left.
PARLANCE_AMX PARLANCE_INLINE int64_t rows_together(int64_t n_left) {
  return n_left >= 2 * kSide ? 2 * kSide : std::min<int64_t>(n_left, kSide);
}
PARLANCE_AMX PARLANCE_INLINE void configure_for(int64_t n_rows) {
  _tile_loadconfig(&kRowShapes[static_cast<size_t>(std::min<int64_t>(n_rows, kSide))]);
}

// ---- Queries ----

inline int64_t chunked(int64_t head_dim) {
  return align_up(head_dim, kChunk);
}

inline size_t two_number_query_bytes(int64_t head_dim) {
  return static_cast<size_t>(2 * chunked(head_dim)) * sizeof(bf16_bits);
}

PARLANCE_AMX void prepare_two_numbers(const Tile& tile, int64_t row, const float* query, float scale) {
  const auto* bytes = reinterpret_cast<const std::byte*>(query);
  const int64_t n = tile.head_dim_k;
  auto* first = tile.query<bf16_bits>(row);
  auto* rest = first + chunked(n);
  const F factor = Lanes::broadcast(scale);
  for (int64_t i = 0; i < n; i += kChunk) {
    F low, high;
    if (i + kChunk <= n) {
      load_chunk<F32Rows, true>(bytes, i, n, low, high);
    } else {
      load_chunk<F32Rows, false>(bytes, i, n, low, high);
    }
    const TwoNumbers x = split(Lanes::multiply(low, factor), Lanes::multiply(high, factor));
    _mm512_store_si512(first + i, x.first);
    _mm512_store_si512(rest + i, x.rest);
  }
}

// ---- Keys: columns of sixteen, part by part ----

inline size_t two_number_key_bytes(int64_t head_dim) {
  return static_cast<size_t>(kKeyBlock / kSide * (chunked(head_dim) / kChunk) * kPartBytes);
}

template <class Rows, bool kWhole>
PARLANCE_AMX PARLANCE_INLINE void pack_key_part(const std::byte* const (&rows)[kSide], int64_t i, int64_t n,
                                                std::byte* part) {
  F first[kSide], rest[kSide];
#pragma GCC unroll 16
  for (int r = 0; r < kSide; ++r) {
    F low, high;
    load_chunk<Rows, kWhole>(rows[r], i, n, low, high);
    const TwoNumbers x = split(low, high);
    first[r] = _mm512_castsi512_ps(x.first);
    rest[r] = _mm512_castsi512_ps(x.rest);
  }
  Lanes::transpose(first);
  Lanes::transpose(rest);
#pragma GCC unroll 16
  for (int r = 0; r < kSide; ++r) {
    _mm512_store_ps(part + r * simd::kTileRowBytes, first[r]);
    _mm512_store_ps(part + kTileBytes + r * simd::kTileRowBytes, rest[r]);
  }
}

template <class Rows>
PARLANCE_AMX void pack_key_tiles(const Tile& tile, const std::byte* keys, int64_t n_keys) {
  const int64_t n = tile.head_dim_k;
  std::byte* part = tile.workspace;
  for (int64_t j = 0; j < n_keys; j += kSide) {
    const std::byte* rows[kSide];
    for (int r = 0; r < kSide; ++r)
      rows[r] = keys + static_cast<size_t>(std::min(j + r, n_keys - 1)) * tile.k_row_bytes;
    for (int64_t i = 0; i < n; i += kChunk, part += kPartBytes) {
      if (i + kChunk <= n) {
        pack_key_part<Rows, true>(rows, i, n, part);
      } else {
        pack_key_part<Rows, false>(rows, i, n, part);
      }
    }
  }
}

template <class Rows>
PARLANCE_AMX void score_in_tiles(const Tile& tile, const std::byte* keys, int64_t n_keys,
                                 const std::byte* next) {
  pack_key_tiles<Rows>(tile, keys, n_keys);
  asm volatile("" ::: "memory");  // compilers take tiles for something that reads no memory
  const int64_t n_parts = chunked(tile.head_dim_k) / kChunk;
  const auto query_bytes = static_cast<int64_t>(tile.query_bytes);
  int64_t n_rows = 0;
  for (int64_t row = 0; row < tile.n_rows; row += n_rows) {
    const int64_t before = std::min<int64_t>(n_rows, kSide);
    n_rows = rows_together(tile.n_rows - row);
    if (std::min<int64_t>(n_rows, kSide) != before) configure_for(n_rows);
    read_ahead(next, row * n_keys / tile.n_rows, (row + n_rows) * n_keys / tile.n_rows, tile.next_bytes);
    const auto* query = tile.query<std::byte>(row);
    const TileRows a{query, query + query_bytes / 2, query_bytes, simd::kTileRowBytes, kSide * query_bytes};
    const int64_t n_columns = div_up<int64_t>(most_visible(tile, row, n_rows), kSide);
    float* scores = tile.scores + row * kKeyBlock;
    if (n_rows > kSide) {
      multiply_rows_of_tiles<2, false>(a, tile.workspace, n_parts, n_parts * kPartBytes, n_columns, scores,
                                       kKeyBlock);
    } else {
      multiply_rows_of_tiles<1, false>(a, tile.workspace, n_parts, n_parts * kPartBytes, n_columns, scores,
                                       kKeyBlock);
    }
  }
  _tile_release();
}

// ---- Values: columns of sixteen channels, 32 values of each after the other ----

inline size_t two_number_value_bytes(int64_t head_dim) {
  return static_cast<size_t>(div_up<int64_t>(head_dim, kSide) * kKeyParts * kPartBytes);
}

// Channels [i, i + 32) of a pair of values; the second one may be null.
template <class Rows, bool kWhole>
PARLANCE_AMX PARLANCE_INLINE void pack_value_pair(const std::byte* even, const std::byte* odd, int64_t i,
                                                  int64_t n, bool has_high, std::byte* pairs) {
  constexpr int64_t kColumnBytes = kKeyParts * kPartBytes;
  F even_low, even_high, odd_low = Lanes::zero(), odd_high = Lanes::zero();
  load_chunk<Rows, kWhole>(even, i, n, even_low, even_high);
  if (odd) load_chunk<Rows, kWhole>(odd, i, n, odd_low, odd_high);
  const TwoNumbers low = split_pairs(even_low, odd_low);
  _mm512_store_si512(pairs, low.first);
  _mm512_store_si512(pairs + kTileBytes, low.rest);
  if (!has_high) return;
  const TwoNumbers high = split_pairs(even_high, odd_high);
  _mm512_store_si512(pairs + kColumnBytes, high.first);
  _mm512_store_si512(pairs + kColumnBytes + kTileBytes, high.rest);
}

// Values past the last one, whose weights are zero, are zero.
template <class Rows>
PARLANCE_AMX void pack_value_tiles(const Tile& tile, const std::byte* values, int64_t n_keys) {
  const int64_t n = tile.head_dim_v;
  for (int64_t j = 0; j < align_up(n_keys, kChunk); j += 2) {
    const std::byte* even = values + static_cast<size_t>(j) * tile.v_row_bytes;
    std::byte* pairs = tile.workspace + j / kChunk * kPartBytes + j % kChunk / 2 * simd::kTileRowBytes;
    for (int64_t i = 0; i < n; i += kChunk, pairs += 2 * kKeyParts * kPartBytes) {
      const bool has_high = i + kSide < n;
      if (j >= n_keys) {
        for (int64_t column = 0; column <= int64_t{has_high}; ++column) {
          std::byte* zeros = pairs + column * kKeyParts * kPartBytes;
          _mm512_store_si512(zeros, _mm512_setzero_si512());
          _mm512_store_si512(zeros + kTileBytes, _mm512_setzero_si512());
        }
        continue;
      }
      const std::byte* odd = j + 1 < n_keys ? even + tile.v_row_bytes : nullptr;
      if (i + kChunk <= n) {
        pack_value_pair<Rows, true>(even, odd, i, n, has_high, pairs);
      } else {
        pack_value_pair<Rows, false>(even, odd, i, n, has_high, pairs);
      }
    }
  }
}

// Weights of rows, part by part [part][row]: of each the first numbers, then the rests.
using WeightParts = std::byte[kKeyParts][2][2 * kSide][simd::kTileRowBytes];

PARLANCE_AMX void pack_weight_tiles(const Tile& tile, int64_t row, int64_t n_rows, int64_t n_parts,
                                    int64_t n_keys, WeightParts& parts) {
  const int64_t end = align_up<int64_t>(n_keys, kSide);  // softmax has zeros up to there
  for (int64_t r = 0; r < n_rows; ++r) {
    const float* weights = tile.scores + (row + r) * kKeyBlock;
    for (int64_t part = 0; part < n_parts; ++part) {
      const int64_t j = part * kChunk;
      const F high = j + kSide < end ? Lanes::load(weights + j + kSide) : Lanes::zero();
      const TwoNumbers x = split(Lanes::load(weights + j), high);
      _mm512_store_si512(parts[part][0][r], x.first);
      _mm512_store_si512(parts[part][1][r], x.rest);
    }
  }
}

template <class Rows>
PARLANCE_AMX void accumulate_in_tiles(const Tile& tile, const std::byte* values, int64_t n_keys,
                                      const std::byte* next) {
  pack_value_tiles<Rows>(tile, values, n_keys);
  alignas(64) WeightParts weights;
  const int64_t n_columns = tile.out_stride / kSide;
  int64_t n_rows = 0;
  for (int64_t row = 0; row < tile.n_rows; row += n_rows) {
    const int64_t before = std::min<int64_t>(n_rows, kSide);
    n_rows = rows_together(tile.n_rows - row);
    if (std::min<int64_t>(n_rows, kSide) != before) configure_for(n_rows);
    read_ahead(next, row * n_keys / tile.n_rows, (row + n_rows) * n_keys / tile.n_rows, tile.next_bytes);
    const int64_t n_parts = div_up(int64_t{most_visible(tile, row, n_rows)}, kChunk);
    pack_weight_tiles(tile, row, n_rows, n_parts, n_keys, weights);
    asm volatile("" ::: "memory");
    const TileRows a{weights[0][0][0], weights[0][1][0], simd::kTileRowBytes, sizeof weights[0], kTileBytes};
    float* out = tile.out + row * tile.out_stride;
    if (n_rows > kSide) {
      multiply_rows_of_tiles<2, true>(a, tile.workspace, n_parts, kKeyParts * kPartBytes, n_columns, out,
                                      tile.out_stride);
    } else {
      multiply_rows_of_tiles<1, true>(a, tile.workspace, n_parts, kKeyParts * kPartBytes, n_columns, out,
                                      tile.out_stride);
    }
  }
  _tile_release();
}

template <class Rows>
constexpr FormatKernels kTileRowsOf = {
    .keys = {two_number_query_bytes, two_number_key_bytes, prepare_two_numbers, score_in_tiles<Rows>},
    .values = {two_number_value_bytes, accumulate_in_tiles<Rows>, finish_f32},
};
