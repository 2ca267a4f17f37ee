// Tiles of few rows (decode), bound by memory: each row of the cache is widened in registers, or in parts of
// a block for many rows at once, and multiplied with 1, 2 or 4 rows of the tile at a time. Sums are made in
// the order of many_rows.simd.h: those of a score in four chains, channel i in chain i mod 4, of which 0 and
// 2, and 1 and 3 meet first; those over values one after the other.

constexpr int64_t kGroupRows = 4;  // rows of a tile that share what is in registers
constexpr int64_t kPartKeys = 32;  // keys, or values, that are widened together for all groups of rows
constexpr int64_t kMostApart = 2 * kGroupRows;  // rows whose groups had better widen by themselves

constexpr int kQuadKeys = kWidth / 4;  // keys that share a vector, four channels of each

// sums += kWidth channels from i on of kGroups * kQuadKeys keys, times those of the queries.
template <int kRows, int kGroups>
PARLANCE_SIMD PARLANCE_INLINE void add_channels(const float* q, int64_t q_stride, int64_t i,
                                                F (&keys)[kGroups][kQuadKeys], F (&sums)[kRows][kGroups]) {
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) Lanes::transpose_quads(keys[g]);
#pragma GCC unroll 4
  for (int quad = 0; quad < kQuadKeys; ++quad) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F x = Lanes::quads_of(q + r * q_stride + i + 4 * quad);
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) sums[r][g] = Lanes::multiply_add(x, keys[g][quad], sums[r][g]);
    }
  }
}

template <class Rows, int kRows>
PARLANCE_SIMD void score_few(const Tile& tile, int64_t first_row, const std::byte* keys, int64_t n_keys,
                             const Ahead& ahead) {
  constexpr int kGroups = kRows == 4 && Lanes::kRegisters < 32 ? 2 : 4;
  constexpr int kKeys = kGroups * kQuadKeys;
  const float* q = tile.query<float>(first_row);
  const auto q_stride = static_cast<int64_t>(tile.query_bytes / sizeof(float));
  for (int64_t j = 0; j < n_keys; j += kKeys) {
    read_ahead(ahead, j, j + kKeys);
    const std::byte* rows[kKeys];
#pragma GCC unroll 16
    for (int k = 0; k < kKeys; ++k) {
      rows[k] = keys + static_cast<size_t>(std::min(j + k, n_keys - 1)) * tile.k_row_bytes;
    }
    F sums[kRows][kGroups];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) sums[r][g] = Lanes::zero();
    }
    int64_t i = 0;
    for (; i + Rows::kVectors * kWidth <= tile.head_dim_k; i += Rows::kVectors * kWidth) {
      F vectors[kKeys][Rows::kVectors];
#pragma GCC unroll 16
      for (int k = 0; k < kKeys; ++k) Rows::load(rows[k], i, vectors[k]);
#pragma GCC unroll 8
      for (int v = 0; v < Rows::kVectors; ++v) {
        F own[kGroups][kQuadKeys];
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; ++k) own[k / kQuadKeys][k % kQuadKeys] = vectors[k][v];
        add_channels<kRows, kGroups>(q, q_stride, i + v * kWidth, own, sums);
      }
    }
    if (i < tile.head_dim_k) {
      F own[kGroups][kQuadKeys];
#pragma GCC unroll 16
      for (int k = 0; k < kKeys; ++k) {
        own[k / kQuadKeys][k % kQuadKeys] = Rows::load_first(rows[k], i, tile.head_dim_k - i);
      }
      add_channels<kRows, kGroups>(q, q_stride, i, own, sums);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      float* scores = tile.scores + (first_row + r) * kKeyBlock + j;
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        Lanes::store_quad_sums(scores + g * kQuadKeys, number_or_nan(sums[r][g]));
      }
    }
  }
}

// out[first_row .. +kRows][i .. + kVectors * kWidth] += weights v
template <class Rows, int kRows, int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void accumulate_columns(const Tile& tile, int64_t first_row,
                                                      const std::byte* values, int64_t n_keys,
                                                      const Ahead& ahead, int64_t i) {
  float* out = tile.out + first_row * tile.out_stride + i;
  const float* weights = tile.scores + first_row * kKeyBlock;
  F sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Lanes::load(out + r * tile.out_stride + v * kWidth);
  }
  for (int64_t j = 0; j < n_keys; ++j) {
    read_ahead(ahead, j, j + 1);
    F weight[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) weight[r] = Lanes::broadcast(weights[r * kKeyBlock + j]);
    const std::byte* row = values + static_cast<size_t>(j) * tile.v_row_bytes;
#pragma GCC unroll 8
    for (int step = 0; step < kVectors; step += Rows::kVectors) {
      F x[Rows::kVectors];
      Rows::load(row, i + step * kWidth, x);
#pragma GCC unroll 8
      for (int v = 0; v < Rows::kVectors; ++v) {
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          sums[r][step + v] = Lanes::multiply_add(weight[r], x[v], sums[r][step + v]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) Lanes::store(out + r * tile.out_stride + v * kWidth, sums[r][v]);
  }
}

template <class Rows, int kRows>
PARLANCE_SIMD void accumulate_few(const Tile& tile, int64_t first_row, const std::byte* values,
                                  int64_t n_keys, const Ahead& ahead) {
  constexpr int kVectors = std::max(Rows::kVectors, std::min(8, Lanes::kRegisters / 2 / kRows));
  const int64_t n = tile.head_dim_v;
  int64_t i = 0;
  for (; i + kVectors * kWidth <= n; i += kVectors * kWidth) {
    accumulate_columns<Rows, kRows, kVectors>(tile, first_row, values, n_keys, i == 0 ? ahead : Ahead{}, i);
  }
  for (; i + Rows::kVectors * kWidth <= n; i += Rows::kVectors * kWidth) {
    accumulate_columns<Rows, kRows, Rows::kVectors>(tile, first_row, values, n_keys, i == 0 ? ahead : Ahead{},
                                                    i);
  }
  if (i == n) return;
  for (int r = 0; r < kRows; ++r) {
    float* out = tile.out + (first_row + r) * tile.out_stride + i;
    F sum = Lanes::load(out);
    for (int64_t j = 0; j < n_keys; ++j) {
      const F x = Rows::load_first(values + static_cast<size_t>(j) * tile.v_row_bytes, i, n - i);
      sum = Lanes::multiply_add(Lanes::broadcast(tile.scores[(first_row + r) * kKeyBlock + j]), x, sum);
    }
    Lanes::store(out, sum);
  }
}

// Calls kernel<n>(first, next) for all rows of a tile, four, two or one at a time. The first call reads
// ahead.
template <class Kernel>
PARLANCE_INLINE void in_groups_of_rows(const Tile& tile, const std::byte* next, const Kernel& kernel) {
  for (int64_t row = 0; row < tile.n_rows; next = nullptr) {
    switch (std::min<int64_t>(tile.n_rows - row, kGroupRows)) {
      case 1:
        kernel.template operator()<1>(row, next);
        row += 1;
        break;
      case 4:
        kernel.template operator()<4>(row, next);
        row += 4;
        break;
      default:
        kernel.template operator()<2>(row, next);
        row += 2;
        break;
    }
  }
}

inline size_t part_bytes(int64_t head_dim) {
  return static_cast<size_t>(kPartKeys * align_up(head_dim, kStrideElements)) * sizeof(float);
}

// Calls kernel<Rows, n>(tile, first, rows, n_keys, ahead) for all rows of a tile. Where there are several
// groups of them, the block is widened once for all, a part of it at a time that stays in the processor's
// first cache: each group finds the same numbers as if it had widened them itself. All groups share in
// reading ahead, since a processor waits for few lines at a time.
template <class Rows, class Kernel>
PARLANCE_SIMD PARLANCE_INLINE void in_groups_of_block(const Tile& tile, const std::byte* rows,
                                                      int64_t head_dim, size_t row_bytes, int64_t n_keys,
                                                      const std::byte* next, const Kernel& kernel) {
  if (std::is_same_v<Rows, F32Rows> || tile.n_rows <= kMostApart) {
    in_groups_of_rows(tile, next, [&]<int kRows>(int64_t row, const std::byte* start) {
      kernel.template operator()<Rows, kRows>(tile, row, rows, n_keys, Ahead{start, tile.next_bytes});
    });
    return;
  }
  auto* const wide = reinterpret_cast<float*>(tile.workspace);
  const int64_t stride = align_up(head_dim, kStrideElements);
  const auto n_rows = static_cast<size_t>(tile.n_rows);
  Tile part = tile;
  part.k_row_bytes = part.v_row_bytes = static_cast<size_t>(stride) * sizeof(float);
  for (int64_t first = 0; first < n_keys; first += kPartKeys) {
    const int64_t n = std::min(kPartKeys, n_keys - first);
    for (int64_t j = 0; j < n; ++j)
      widen<Rows>(rows + static_cast<size_t>(first + j) * row_bytes, head_dim, wide + j * stride);
    part.scores = tile.scores + first;
    in_groups_of_rows(part, next, [&]<int kRows>(int64_t row, const std::byte*) {
      Ahead ahead;
      if (next) {
        ahead.key_bytes = div_up(kRows * tile.next_bytes, n_rows);
        ahead.start = next + static_cast<size_t>(first) * tile.next_bytes +
                      static_cast<size_t>(n) * tile.next_bytes * static_cast<size_t>(row) / n_rows;
      }
      kernel.template operator()<F32Rows, kRows>(part, row, tile.workspace, n, ahead);
    });
  }
}

template <class Rows>
PARLANCE_SIMD void score_by_row(const Tile& tile, const std::byte* keys, int64_t n_keys,
                                const std::byte* next) {
  in_groups_of_block<Rows>(tile, keys, tile.head_dim_k, tile.k_row_bytes, n_keys, next,
                           []<class Wide, int kRows>(auto&&... args) { score_few<Wide, kRows>(args...); });
}

template <class Rows>
PARLANCE_SIMD void accumulate_by_row(const Tile& tile, const std::byte* values, int64_t n_keys,
                                     const std::byte* next) {
  in_groups_of_block<Rows>(
      tile, values, tile.head_dim_v, tile.v_row_bytes, n_keys, next,
      []<class Wide, int kRows>(auto&&... args) { accumulate_few<Wide, kRows>(args...); });
}

template <class Rows>
constexpr FormatKernels kFewRows = {
    .keys = {f32_query_bytes, part_bytes, prepare_f32, score_by_row<Rows>},
    .values = {part_bytes, accumulate_by_row<Rows>, finish_f32},
};
