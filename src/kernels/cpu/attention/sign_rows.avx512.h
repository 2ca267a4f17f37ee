// Keys of qjl1_256 in tiles of few rows, included by avx512.cpp after few_rows.simd.h: of a query in bytes,
// those whose sign is set are summed up by vpdpbusd. Bytes add 5e-5 to the format's mean square error, which
// is 0.31.

constexpr int64_t kSketch = BlockQjl1_256::kStored;

// A prepared query: its bytes; then for each sketch their sum, and the factor of the products with a key.
struct SketchQuery {
  SketchQuery(std::byte* memory, int64_t n_stored)
      : values(reinterpret_cast<int8_t*>(memory)),
        sums(reinterpret_cast<float*>(memory + n_stored)),
        factors(sums + n_stored / kSketch) {}
  int8_t* values;
  float* sums;
  float* factors;
};

inline size_t sketch_query_bytes(int64_t n_stored) {
  return align_up(static_cast<size_t>(n_stored + n_stored / kSketch * 8), size_t{64});
}

inline void prepare_sketch(const Tile& tile, int64_t row, const float* query, float scale) {
  const SketchQuery prepared(tile.query<std::byte>(row), tile.head_dim_k);
  for (int64_t c = 0; c < tile.head_dim_k / kSketch; ++c, query += kSketch) {
    const QueryStep step = query_step(query, kSketch, 127);
    int32_t sum = 0;
    for (int64_t i = 0; i < kSketch; ++i) {
      const int32_t value = to_integer(query[i], step);
      prepared.values[c * kSketch + i] = static_cast<int8_t>(value);
      sum += value;
    }
    prepared.sums[c] = static_cast<float>(sum);
    prepared.factors[c] = scale * step.step;
  }
}

// ---- Tiles of few rows: queries and keys in one piece ----

// The sum of a query's values, each with its sign, is twice the sum of those whose sign is set, less that of
// all.
template <int kRows>
PARLANCE_AVX512 void score_signs_rows(const Tile& tile, int64_t first_row, const std::byte* keys,
                                      int64_t n_keys, const std::byte* next) {
  constexpr int kKeys = kWidth / kRows;
  const I ones = _mm512_set1_epi8(1);
  for (int64_t j = 0; j < n_keys; j += kKeys) {
    read_ahead(next, j, j + kKeys, tile.next_bytes);
    F scores = Lanes::zero();  // [kRows][kKeys]
    for (int64_t c = 0; c < tile.head_dim_k / kSketch; ++c) {
      const std::byte* blocks[kKeys];
      bf16_bits norms[kWidth];  // of the keys, once for each row
#pragma GCC unroll 16
      for (int k = 0; k < kKeys; ++k) {
        blocks[k] = keys + static_cast<size_t>(std::min(j + k, n_keys - 1)) * tile.k_row_bytes +
                    static_cast<size_t>(c) * sizeof(BlockQjl1_256);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          std::memcpy(&norms[r * kKeys + k], blocks[k] + offsetof(BlockQjl1_256, norm), sizeof *norms);
        }
      }
      const int8_t* q[kRows];
      F factors = Lanes::zero(), query_sums = Lanes::zero();
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const SketchQuery query(tile.query<std::byte>(first_row + r), tile.head_dim_k);
        q[r] = query.values + c * kSketch;
        const auto lanes = static_cast<__mmask16>(((1u << kKeys) - 1) << (r * kKeys));
        factors = _mm512_mask_broadcastss_ps(factors, lanes, _mm_load_ss(&query.factors[c]));
        query_sums = _mm512_mask_broadcastss_ps(query_sums, lanes, _mm_load_ss(&query.sums[c]));
      }
      I sums[kWidth];  // [kRows][kKeys]
#pragma GCC unroll 16
      for (int s = 0; s < kWidth; ++s) sums[s] = _mm512_setzero_si512();
#pragma GCC unroll 4
      for (int i = 0; i < kSketch; i += 64) {
        I values[kRows];
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) values[r] = _mm512_loadu_si512(q[r] + i);
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; ++k) {
          uint64_t signs;
          std::memcpy(&signs, blocks[k] + offsetof(BlockQjl1_256, signs) + i / 8, sizeof signs);
          const I set = _mm512_maskz_mov_epi8(signs, ones);
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) {
            sums[r * kKeys + k] = _mm512_dpbusd_epi32(sums[r * kKeys + k], set, values[r]);
          }
        }
      }
      F lanes[kWidth];
#pragma GCC unroll 16
      for (int s = 0; s < kWidth; ++s) lanes[s] = _mm512_cvtepi32_ps(sums[s]);
      const F of_set = Lanes::sums_of(lanes);
      const F product = Lanes::subtract(Lanes::add(of_set, of_set), query_sums);
      const F norm = Lanes::widen_bf16(reinterpret_cast<const std::byte*>(norms));
      scores = Lanes::multiply_add(product, Lanes::multiply(norm, factors), scores);
    }
    float totals[kWidth];
    Lanes::store(totals, number_or_nan(scores));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(tile.scores + (first_row + r) * kKeyBlock + j, totals + r * kKeys, kKeys * sizeof(float));
    }
  }
}

PARLANCE_AVX512 void score_signs(const Tile& tile, const std::byte* keys, int64_t n_keys,
                                 const std::byte* next) {
  in_groups_of_rows(tile, next, [&]<int kRows>(int64_t row, const std::byte* ahead) {
    score_signs_rows<kRows>(tile, row, keys, n_keys, ahead);
  });
}

// ---- Tiles of many rows: a matrix product, as in int16_rows.avx512.h, of bytes ----

constexpr int64_t kFours = kSketch / 4;  // of a sketch

struct SignDot {
  PARLANCE_AVX512 static PARLANCE_INLINE I add(I sum, I query, I signs) {
    return _mm512_dpbusd_epi32(sum, signs, query);
  }
};

struct SketchWorkspace {
  SketchWorkspace(std::byte* memory, int64_t n_stored)
      : fours(reinterpret_cast<int32_t*>(memory)),
        norms(reinterpret_cast<float*>(fours + n_stored / 4 * kKeyBlock)) {}
  int32_t* fours;  // [n_stored / 4][kKeyBlock]: bytes of 2 where a sign is set, else of 0
  float* norms;    // [n_stored / kSketch][kKeyBlock]
};

inline size_t sketch_workspace_bytes(int64_t n_stored) {
  return static_cast<size_t>((n_stored / 4 + n_stored / kSketch) * kKeyBlock) * sizeof(int32_t);
}

// The four bytes of each combination of four signs.
constexpr std::array<uint32_t, 16> kBytesOfSigns = [] {
  std::array<uint32_t, 16> bytes{};
  for (uint32_t signs = 0; signs < 16; ++signs) {
    for (uint32_t i = 0; i < 4; ++i) bytes[signs] |= (signs >> i & 1) << (8 * i + 1);
  }
  return bytes;
}();

// Sixteen keys as columns j .. j + 15 of the workspace; those past n_keys repeat the last.
PARLANCE_AVX512 inline void unpack_signs(const Tile& tile, const std::byte* keys, int64_t n_keys, int64_t j,
                                         const SketchWorkspace& unpacked) {
  const I table = _mm512_loadu_si512(kBytesOfSigns.data());
  for (int64_t c = 0; c < tile.head_dim_k / kSketch; ++c) {
    uint32_t signs[kSketch / 32][kWidth];
    bf16_bits norms[kWidth];
    for (int k = 0; k < kWidth; ++k) {
      const std::byte* block = keys + static_cast<size_t>(std::min(j + k, n_keys - 1)) * tile.k_row_bytes +
                               static_cast<size_t>(c) * sizeof(BlockQjl1_256);
      std::memcpy(&norms[k], block + offsetof(BlockQjl1_256, norm), sizeof *norms);
      for (size_t i = 0; i < kSketch / 32; ++i) std::memcpy(&signs[i][k], block + 4 * i, sizeof(uint32_t));
    }
    Lanes::store(unpacked.norms + c * kKeyBlock + j,
                 number_or_nan(Lanes::widen_bf16(reinterpret_cast<const std::byte*>(norms))));
    int32_t* fours = unpacked.fours + c * kFours * kKeyBlock + j;
    for (const auto& of_keys : signs) {
      I bits = _mm512_loadu_si512(of_keys);
      for (int i = 0; i < 8; ++i, fours += kKeyBlock, bits = _mm512_srli_epi32(bits, 4)) {
        _mm512_storeu_si512(fours, _mm512_permutexvar_epi32(bits, table));
      }
    }
  }
}

PARLANCE_AVX512 inline void score_sketches(const Tile& tile, const std::byte* keys, int64_t n_keys,
                                           const std::byte* next) {
  const SketchWorkspace unpacked(tile.workspace, tile.head_dim_k);
  for (int64_t j = 0; j < n_keys; j += kWidth) unpack_signs(tile, keys, n_keys, j, unpacked);
  for (int64_t row = 0; row < tile.n_rows; row += kPairRows) {
    const int64_t n_rows = std::min<int64_t>(kPairRows, tile.n_rows - row);
    read_ahead(next, row * n_keys / tile.n_rows, (row + n_rows) * n_keys / tile.n_rows, tile.next_bytes);
    const int64_t n_vectors = div_up<int64_t>(most_visible(tile, row, n_rows), kWidth);
    for (int64_t c = 0; c < tile.head_dim_k / kSketch; ++c) {
      float factors[kPairRows];
      int32_t starts[kPairRows];
      for (int64_t r = 0; r < n_rows; ++r) {
        const SketchQuery query(tile.query<std::byte>(row + r), tile.head_dim_k);
        factors[r] = query.factors[c];
        starts[r] = -static_cast<int32_t>(query.sums[c]);
      }
      const PairProduct product = {.row_starts = starts,
                                   .a = tile.query<int32_t>(row) + c * kFours,
                                   .a_stride = static_cast<int64_t>(tile.query_bytes / sizeof(int32_t)),
                                   .b = unpacked.fours + c * kFours * kKeyBlock,
                                   .b_stride = kKeyBlock,
                                   .n_pairs = kFours,
                                   .row_factors = factors,
                                   .column_factors = unpacked.norms + c * kKeyBlock,
                                   .out = tile.scores + row * kKeyBlock,
                                   .out_stride = kKeyBlock};
      if (c == 0) {
        multiply_pairs<false, SignDot>(n_rows, product, n_vectors);
      } else {
        multiply_pairs<true, SignDot>(n_rows, product, n_vectors);
      }
    }
  }
}
