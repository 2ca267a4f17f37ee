// Tiles of many rows (prefill), bound by arithmetic: the block is widened to f32 once for all rows, keys
// transposed, and both products are the same register-blocked matrix product.

template <int kRows, int kVectors>
using PanelSums = F[kRows][kVectors];

// sums += a [kRows][depth] b [depth][kVectors * kWidth], of which every k_step-th k from `first` on.
template <int kRows, int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void add_products(const float* a, int64_t a_stride, const float* b,
                                                int64_t b_stride, int64_t first, int64_t depth,
                                                int64_t k_step, PanelSums<kRows, kVectors>& sums) {
  for (int64_t k = first; k < depth; k += k_step) {
    F row[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) row[v] = Lanes::load(b + k * b_stride + v * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F x = Lanes::broadcast(a[r * a_stride + k]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Lanes::multiply_add(x, row[v], sums[r][v]);
    }
  }
}

// c [kRows][kVectors * kWidth] += a [kRows][depth] b [depth][kVectors * kWidth], one after the other.
template <int kRows, int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void add_panel(const float* a, int64_t a_stride, const float* b,
                                             int64_t b_stride, int64_t depth, float* c, int64_t c_stride) {
  PanelSums<kRows, kVectors> sums;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Lanes::load(c + r * c_stride + v * kWidth);
  }
  add_products<kRows, kVectors>(a, a_stride, b, b_stride, 0, depth, 1, sums);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) Lanes::store(c + r * c_stride + v * kWidth, sums[r][v]);
  }
}

// c [kRows][kVectors * kWidth] = a [kRows][depth] b [depth][kVectors * kWidth], in the four chains of
// few_rows.simd.h: scores, none of which is infinite.
template <int kRows, int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void set_panel(const float* a, int64_t a_stride, const float* b,
                                             int64_t b_stride, int64_t depth, float* c, int64_t c_stride) {
  F waiting[2][kRows][kVectors];
  PanelSums<kRows, kVectors> sums;
  for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Lanes::zero();
    }
    const int chain = (i & 1) << 1 | i >> 1;
    add_products<kRows, kVectors>(a, a_stride, b, b_stride, chain, depth, 4, sums);
    int level = 0;
    for (; i >> level & 1; ++level) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[r][v] = Lanes::add(sums[r][v], waiting[level][r][v]);
      }
    }
    if (level == 2) break;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) waiting[level][r][v] = sums[r][v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      Lanes::store(c + r * c_stride + v * kWidth, number_or_nan(sums[r][v]));
    }
  }
}

template <int kRows, int kVectors, bool kAccumulate>
PARLANCE_SIMD void multiply_panel(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                                  int64_t depth, float* c, int64_t c_stride) {
  if constexpr (kAccumulate) {
    add_panel<kRows, kVectors>(a, a_stride, b, b_stride, depth, c, c_stride);
  } else {
    set_panel<kRows, kVectors>(a, a_stride, b, b_stride, depth, c, c_stride);
  }
}

constexpr int kPanelRows = 6;
constexpr int kPanelVectors = Lanes::kRegisters == 32 ? 4 : 2;

template <int kRows, bool kAccumulate>
PARLANCE_SIMD void multiply_rows(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                                 int64_t depth, float* c, int64_t c_stride, int64_t n_vectors) {
  for (; n_vectors >= kPanelVectors; n_vectors -= kPanelVectors) {
    multiply_panel<kRows, kPanelVectors, kAccumulate>(a, a_stride, b, b_stride, depth, c, c_stride);
    b += kPanelVectors * kWidth;
    c += kPanelVectors * kWidth;
  }
  if constexpr (kPanelVectors > 2) {
    if (n_vectors >= 2) {
      multiply_panel<kRows, 2, kAccumulate>(a, a_stride, b, b_stride, depth, c, c_stride);
      b += 2 * kWidth;
      c += 2 * kWidth;
      n_vectors -= 2;
    }
  }
  if (n_vectors > 0) multiply_panel<kRows, 1, kAccumulate>(a, a_stride, b, b_stride, depth, c, c_stride);
}

template <bool kAccumulate>
PARLANCE_SIMD void multiply(int64_t n_rows, const float* a, int64_t a_stride, const float* b,
                            int64_t b_stride, int64_t depth, float* c, int64_t c_stride, int64_t n_vectors) {
  switch (n_rows) {
    case 1:
      return multiply_rows<1, kAccumulate>(a, a_stride, b, b_stride, depth, c, c_stride, n_vectors);
    case 2:
      return multiply_rows<2, kAccumulate>(a, a_stride, b, b_stride, depth, c, c_stride, n_vectors);
    case 3:
      return multiply_rows<3, kAccumulate>(a, a_stride, b, b_stride, depth, c, c_stride, n_vectors);
    case 4:
      return multiply_rows<4, kAccumulate>(a, a_stride, b, b_stride, depth, c, c_stride, n_vectors);
    case 5:
      return multiply_rows<5, kAccumulate>(a, a_stride, b, b_stride, depth, c, c_stride, n_vectors);
    default:
      return multiply_rows<6, kAccumulate>(a, a_stride, b, b_stride, depth, c, c_stride, n_vectors);
  }
}

// wide [head_dim][kKeyBlock] = keys transposed; lanes past n_keys repeat the last key.
template <class Rows>
PARLANCE_SIMD void widen_transposed(const Tile& tile, const std::byte* keys, int64_t n_keys, float* wide) {
  constexpr int kStep = Rows::kVectors * kWidth;
  for (int64_t j = 0; j < n_keys; j += kWidth) {
    const std::byte* rows[kWidth];
    for (int r = 0; r < kWidth; ++r) {
      rows[r] = keys + static_cast<size_t>(std::min(j + r, n_keys - 1)) * tile.k_row_bytes;
    }
    float* columns = wide + j;
    int64_t i = 0;
    for (; i + kStep <= tile.head_dim_k; i += kStep) {
      F squares[Rows::kVectors][kWidth];
#pragma GCC unroll 16
      for (int r = 0; r < kWidth; ++r) {
        F x[Rows::kVectors];
        Rows::load(rows[r], i, x);
#pragma GCC unroll 8
        for (int v = 0; v < Rows::kVectors; ++v) squares[v][r] = x[v];
      }
#pragma GCC unroll 8
      for (int v = 0; v < Rows::kVectors; ++v) {
        Lanes::transpose(squares[v]);
#pragma GCC unroll 16
        for (int r = 0; r < kWidth; ++r)
          Lanes::store(columns + (i + v * kWidth + r) * kKeyBlock, squares[v][r]);
      }
    }
    if (i == tile.head_dim_k) continue;
    F square[kWidth];
#pragma GCC unroll 16
    for (int r = 0; r < kWidth; ++r) square[r] = Rows::load_first(rows[r], i, tile.head_dim_k - i);
    Lanes::transpose(square);
    for (int r = 0; i + r < tile.head_dim_k; ++r) Lanes::store(columns + (i + r) * kKeyBlock, square[r]);
  }
}

template <class Rows>
PARLANCE_SIMD void score_widened(const Tile& tile, const std::byte* keys, int64_t n_keys,
                                 const std::byte* next) {
  auto* wide = reinterpret_cast<float*>(tile.workspace);
  const auto q_stride = static_cast<int64_t>(tile.query_bytes / sizeof(float));
  widen_transposed<Rows>(tile, keys, n_keys, wide);
  for (int64_t row = 0; row < tile.n_rows; row += kPanelRows) {
    const int64_t n_rows = std::min<int64_t>(kPanelRows, tile.n_rows - row);
    read_ahead(next, row * n_keys / tile.n_rows, (row + n_rows) * n_keys / tile.n_rows, tile.next_bytes);
    multiply<false>(n_rows, tile.query<float>(row), q_stride, wide, kKeyBlock, tile.head_dim_k,
                    tile.scores + row * kKeyBlock, kKeyBlock,
                    div_up<int64_t>(most_visible(tile, row, n_rows), kWidth));
  }
}

template <class Rows>
PARLANCE_SIMD void accumulate_widened(const Tile& tile, const std::byte* values, int64_t n_keys,
                                      const std::byte* next) {
  auto* wide = reinterpret_cast<float*>(tile.workspace);
  for (int64_t j = 0; j < n_keys; ++j) {
    widen<Rows>(values + static_cast<size_t>(j) * tile.v_row_bytes, tile.head_dim_v,
                wide + j * tile.out_stride);
  }
  for (int64_t row = 0; row < tile.n_rows; row += kPanelRows) {
    const int64_t n_rows = std::min<int64_t>(kPanelRows, tile.n_rows - row);
    read_ahead(next, row * n_keys / tile.n_rows, (row + n_rows) * n_keys / tile.n_rows, tile.next_bytes);
    multiply<true>(n_rows, tile.scores + row * kKeyBlock, kKeyBlock, wide, tile.out_stride,
                   most_visible(tile, row, n_rows), tile.out + row * tile.out_stride, tile.out_stride,
                   div_up<int64_t>(tile.head_dim_v, kWidth));
  }
}

inline size_t widened_bytes(int64_t head_dim) {
  return static_cast<size_t>(kKeyBlock * align_up(head_dim, kStrideElements)) * sizeof(float);
}

template <class Rows>
constexpr FormatKernels kWidened = {
    .keys = {f32_query_bytes, widened_bytes, prepare_f32, score_widened<Rows>},
    .values = {widened_bytes, accumulate_widened<Rows>, finish_f32},
};
