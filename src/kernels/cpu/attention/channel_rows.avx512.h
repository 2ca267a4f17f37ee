// Scores of few rows with a vector of channels of one key at a time, included by avx512.cpp after
// few_rows.simd.h: a quarter to a half faster than there, in an order of sums that no kernel of many rows
// has.

template <class Rows, int kRows>
PARLANCE_SIMD void score_channels(const Tile& tile, int64_t first_row, const std::byte* keys, int64_t n_keys,
                                  const Ahead& ahead) {
  constexpr int kSums = Lanes::kRegisters / 2;
  constexpr int kKeys = kSums / kRows;
  const float* q = tile.query<float>(first_row);
  const auto q_stride = static_cast<int64_t>(tile.query_bytes / sizeof(float));
  for (int64_t j = 0; j < n_keys; j += kKeys) {
    const std::byte* rows[kKeys];
#pragma GCC unroll 16
    for (int k = 0; k < kKeys; ++k) {
      rows[k] = keys + static_cast<size_t>(std::min(j + k, n_keys - 1)) * tile.k_row_bytes;
    }
    F sums[kSums];  // [kRows][kKeys]
#pragma GCC unroll 16
    for (int s = 0; s < kSums; ++s) sums[s] = Lanes::zero();
    int64_t i = 0;
    int64_t asked = j;  // not all at once: the loads of these keys would wait behind them
    for (; i + Rows::kVectors * kWidth <= tile.head_dim_k; i += Rows::kVectors * kWidth) {
      if (asked < j + kKeys) {
        read_ahead(ahead, asked, asked + 1);
        ++asked;
      }
#pragma GCC unroll 16
      for (int k = 0; k < kKeys; ++k) {
        F key[Rows::kVectors];
        Rows::load(rows[k], i, key);
#pragma GCC unroll 8
        for (int v = 0; v < Rows::kVectors; ++v) {
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) {
            const F x = Lanes::load(q + r * q_stride + i + v * kWidth);
            sums[r * kKeys + k] = Lanes::multiply_add(x, key[v], sums[r * kKeys + k]);
          }
        }
      }
    }
    if (i < tile.head_dim_k) {
#pragma GCC unroll 16
      for (int k = 0; k < kKeys; ++k) {
        const F key = Rows::load_first(rows[k], i, tile.head_dim_k - i);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const F x = Lanes::load(q + r * q_stride + i);
          sums[r * kKeys + k] = Lanes::multiply_add(x, key, sums[r * kKeys + k]);
        }
      }
    }
    read_ahead(ahead, asked, j + kKeys);
    float totals[kSums];
#pragma GCC unroll 4
    for (int s = 0; s < kSums; s += kWidth) {
      Lanes::store(totals + s, number_or_nan(Lanes::sums_of(reinterpret_cast<const F(&)[kWidth]>(sums[s]))));
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(tile.scores + (first_row + r) * kKeyBlock + j, totals + r * kKeys, kKeys * sizeof(float));
    }
  }
}

template <class Rows>
PARLANCE_SIMD void score_channels_by_row(const Tile& tile, const std::byte* keys, int64_t n_keys,
                                         const std::byte* next) {
  in_groups_of_block<Rows>(
      tile, keys, tile.head_dim_k, tile.k_row_bytes, n_keys, next,
      []<class Wide, int kRows>(auto&&... args) { score_channels<Wide, kRows>(args...); });
}

template <class Rows>
constexpr FormatKernels kChannelRows = {
    .keys = {f32_query_bytes, part_bytes, prepare_f32, score_channels_by_row<Rows>},
    .values = kFewRows<Rows>.values,
};
