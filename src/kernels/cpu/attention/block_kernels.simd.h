// The block kernels, written once for all instruction sets. Included inside a namespace of its own by
// avx2.cpp, avx512.cpp and neon.cpp, which define PARLANCE_SIMD (the function attribute) and `Lanes` (see
// simd/).
//
// A tile of few rows (decode) is bound by memory: each key is widened in registers and multiplied with all
// rows. A tile of many rows (prefill) is bound by arithmetic: the block is widened into the workspace once,
// keys transposed, and both products are the same register-blocked matrix product.

using F = Lanes::F;
constexpr int kWidth = Lanes::kWidth;

// From this many rows on the block is widened into the workspace.
constexpr int64_t kManyRows = 8;

// ---- Formats: kVectors vectors of an encoded row, from element i on (a multiple of kVectors * kWidth) ----

struct F32Rows {
  static constexpr int kVectors = 1;
  PARLANCE_SIMD static PARLANCE_INLINE void load(const std::byte* row, int64_t i, F (&x)[kVectors]) {
    x[0] = Lanes::load(reinterpret_cast<const float*>(row) + i);
  }
  PARLANCE_SIMD static PARLANCE_INLINE F load_first(const std::byte* row, int64_t i, int64_t n) {
    return Lanes::load_first(reinterpret_cast<const float*>(row) + i, n);
  }
};

struct F16Rows {
  static constexpr int kVectors = 1;
  PARLANCE_SIMD static PARLANCE_INLINE void load(const std::byte* row, int64_t i, F (&x)[kVectors]) {
    x[0] = Lanes::widen_f16(row + 2 * i);
  }
  PARLANCE_SIMD static PARLANCE_INLINE F load_first(const std::byte* row, int64_t i, int64_t n) {
    return Lanes::widen_f16_first(row + 2 * i, n);
  }
};

struct Bf16Rows {
  static constexpr int kVectors = 1;
  PARLANCE_SIMD static PARLANCE_INLINE void load(const std::byte* row, int64_t i, F (&x)[kVectors]) {
    x[0] = Lanes::widen_bf16(row + 2 * i);
  }
  PARLANCE_SIMD static PARLANCE_INLINE F load_first(const std::byte* row, int64_t i, int64_t n) {
    return Lanes::widen_bf16_first(row + 2 * i, n);
  }
};

// A block of 32 at a time, so that its step is widened once.
struct Q8Rows {
  static constexpr int kVectors = static_cast<int>(BlockQ8_0::kElements) / kWidth;
  PARLANCE_SIMD static PARLANCE_INLINE void load(const std::byte* row, int64_t i, F (&x)[kVectors]) {
    const std::byte* block = row + i / BlockQ8_0::kElements * static_cast<int64_t>(sizeof(BlockQ8_0));
    const F step = Lanes::broadcast_f16(block);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      x[v] = Lanes::multiply(step, Lanes::widen_i8(block + offsetof(BlockQ8_0, q) + v * kWidth));
    }
  }
  // Rows are whole blocks: there is never a rest.
  PARLANCE_SIMD static PARLANCE_INLINE F load_first(const std::byte*, int64_t, int64_t) {
    return Lanes::zero();
  }
};

// ---- The matrix product of a tile of many rows ----

// c [kRows][kVectors * kWidth] = or += a [kRows][depth] b [depth][kVectors * kWidth]
template <int kRows, int kVectors, bool kAccumulate>
PARLANCE_SIMD void multiply_panel(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                                  int64_t depth, float* c, int64_t c_stride) {
  F sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = kAccumulate ? Lanes::load(c + r * c_stride + v * kWidth) : Lanes::zero();
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
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
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) Lanes::store(c + r * c_stride + v * kWidth, sums[r][v]);
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

inline int64_t most_visible(const Tile& tile, int64_t first_row, int64_t n_rows) {
  return *std::max_element(tile.visible + first_row, tile.visible + first_row + n_rows);
}

// wide [n] = an encoded row; the rest of its last vector is zero.
template <class Rows>
PARLANCE_SIMD PARLANCE_INLINE void widen(const std::byte* row, int64_t n, float* wide) {
  int64_t i = 0;
  for (; i + Rows::kVectors * kWidth <= n; i += Rows::kVectors * kWidth) {
    F x[Rows::kVectors];
    Rows::load(row, i, x);
#pragma GCC unroll 8
    for (int v = 0; v < Rows::kVectors; ++v) Lanes::store(wide + i + v * kWidth, x[v]);
  }
  if (i < n) Lanes::store(wide + i, Rows::load_first(row, i, n - i));
}

// workspace [head_dim][kKeyBlock] = keys transposed; lanes past n_keys repeat the last key.
template <class Rows>
PARLANCE_SIMD void widen_transposed(const Tile& tile, const std::byte* keys, int64_t n_keys) {
  constexpr int kStep = Rows::kVectors * kWidth;
  for (int64_t j = 0; j < n_keys; j += kWidth) {
    const std::byte* rows[kWidth];
    for (int r = 0; r < kWidth; ++r) {
      rows[r] = keys + static_cast<size_t>(std::min(j + r, n_keys - 1)) * tile.k_row_bytes;
    }
    float* columns = tile.workspace + j;
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
PARLANCE_SIMD void score_many(const Tile& tile, const std::byte* keys, int64_t n_keys) {
  widen_transposed<Rows>(tile, keys, n_keys);
  for (int64_t row = 0; row < tile.n_rows; row += kPanelRows) {
    const int64_t n_rows = std::min<int64_t>(kPanelRows, tile.n_rows - row);
    multiply<false>(n_rows, tile.q + row * tile.q_stride, tile.q_stride, tile.workspace, kKeyBlock,
                    tile.head_dim_k, tile.scores + row * kKeyBlock, kKeyBlock,
                    div_up<int64_t>(most_visible(tile, row, n_rows), kWidth));
  }
}

template <class Rows>
PARLANCE_SIMD void accumulate_many(const Tile& tile, const std::byte* values, int64_t n_keys) {
  for (int64_t j = 0; j < n_keys; ++j) {
    widen<Rows>(values + static_cast<size_t>(j) * tile.v_row_bytes, tile.head_dim_v,
                tile.workspace + j * tile.out_stride);
  }
  for (int64_t row = 0; row < tile.n_rows; row += kPanelRows) {
    const int64_t n_rows = std::min<int64_t>(kPanelRows, tile.n_rows - row);
    multiply<true>(n_rows, tile.scores + row * kKeyBlock, kKeyBlock, tile.workspace, tile.out_stride,
                   most_visible(tile, row, n_rows), tile.out + row * tile.out_stride, tile.out_stride,
                   div_up<int64_t>(tile.head_dim_v, kWidth));
  }
}

// ---- Tiles of few rows: 1, 2 or 4 at a time ----

// Asks for rows [first, last) of the next block while this one is worked on: blocks of keys and of values
// take turns, and a processor's own prefetching begins anew at each.
PARLANCE_INLINE void read_ahead(const std::byte* next, int64_t first, int64_t last, size_t row_bytes) {
  constexpr size_t kLine = 64;
  if (!next) return;
  for (size_t at = static_cast<size_t>(first) * row_bytes; at < static_cast<size_t>(last) * row_bytes;
       at += kLine) {
    __builtin_prefetch(next + at, 0, 2);
  }
}

template <class Rows, int kRows>
PARLANCE_SIMD void score_few(const Tile& tile, int64_t first_row, const std::byte* keys, int64_t n_keys,
                             const std::byte* next) {
  constexpr int kSums = Lanes::kRegisters / 2;
  constexpr int kKeys = kSums / kRows;
  const float* q = tile.q + first_row * tile.q_stride;
  for (int64_t j = 0; j < n_keys; j += kKeys) {
    read_ahead(next, j, j + kKeys, tile.k_row_bytes);
    const std::byte* rows[kKeys];
#pragma GCC unroll 16
    for (int k = 0; k < kKeys; ++k) {
      rows[k] = keys + static_cast<size_t>(std::min(j + k, n_keys - 1)) * tile.k_row_bytes;
    }
    F sums[kSums];  // [kRows][kKeys]
#pragma GCC unroll 16
    for (int s = 0; s < kSums; ++s) sums[s] = Lanes::zero();
    int64_t i = 0;
    for (; i + Rows::kVectors * kWidth <= tile.head_dim_k; i += Rows::kVectors * kWidth) {
#pragma GCC unroll 16
      for (int k = 0; k < kKeys; ++k) {
        F key[Rows::kVectors];
        Rows::load(rows[k], i, key);
#pragma GCC unroll 8
        for (int v = 0; v < Rows::kVectors; ++v) {
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) {
            const F x = Lanes::load(q + r * tile.q_stride + i + v * kWidth);
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
          const F x = Lanes::load(q + r * tile.q_stride + i);
          sums[r * kKeys + k] = Lanes::multiply_add(x, key, sums[r * kKeys + k]);
        }
      }
    }
    float totals[kSums];
#pragma GCC unroll 4
    for (int s = 0; s < kSums; s += kWidth) {
      Lanes::store(totals + s, Lanes::sums_of(reinterpret_cast<const F(&)[kWidth]>(sums[s])));
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(tile.scores + (first_row + r) * kKeyBlock + j, totals + r * kKeys, kKeys * sizeof(float));
    }
  }
}

// out[first_row .. +kRows][i .. + kVectors * kWidth] += weights v
template <class Rows, int kRows, int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void accumulate_columns(const Tile& tile, int64_t first_row,
                                                      const std::byte* values, int64_t n_keys,
                                                      const std::byte* next, int64_t i) {
  float* out = tile.out + first_row * tile.out_stride + i;
  const float* weights = tile.scores + first_row * kKeyBlock;
  F sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Lanes::load(out + r * tile.out_stride + v * kWidth);
  }
  for (int64_t j = 0; j < n_keys; ++j) {
    read_ahead(next, j, j + 1, tile.v_row_bytes);
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
                                  int64_t n_keys, const std::byte* next) {
  constexpr int kVectors = std::max(Rows::kVectors, std::min(8, Lanes::kRegisters / 2 / kRows));
  const int64_t n = tile.head_dim_v;
  int64_t i = 0;
  for (; i + kVectors * kWidth <= n; i += kVectors * kWidth) {
    accumulate_columns<Rows, kRows, kVectors>(tile, first_row, values, n_keys, i == 0 ? next : nullptr, i);
  }
  for (; i + Rows::kVectors * kWidth <= n; i += Rows::kVectors * kWidth) {
    accumulate_columns<Rows, kRows, Rows::kVectors>(tile, first_row, values, n_keys, i == 0 ? next : nullptr,
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

// ---- What the driver calls ----

template <class Rows>
PARLANCE_SIMD void score(const Tile& tile, const std::byte* keys, int64_t n_keys, const std::byte* next) {
  if (tile.n_rows >= kManyRows) return score_many<Rows>(tile, keys, n_keys);
  for (int64_t row = 0; row < tile.n_rows;) {
    const std::byte* ahead = row == 0 ? next : nullptr;
    switch (std::min<int64_t>(tile.n_rows - row, 4)) {
      case 1:
        score_few<Rows, 1>(tile, row, keys, n_keys, ahead);
        row += 1;
        break;
      case 4:
        score_few<Rows, 4>(tile, row, keys, n_keys, ahead);
        row += 4;
        break;
      default:
        score_few<Rows, 2>(tile, row, keys, n_keys, ahead);
        row += 2;
        break;
    }
  }
}

template <class Rows>
PARLANCE_SIMD void accumulate(const Tile& tile, const std::byte* values, int64_t n_keys,
                              const std::byte* next) {
  if (tile.n_rows >= kManyRows) return accumulate_many<Rows>(tile, values, n_keys);
  for (int64_t row = 0; row < tile.n_rows;) {
    const std::byte* ahead = row == 0 ? next : nullptr;
    switch (std::min<int64_t>(tile.n_rows - row, 4)) {
      case 1:
        accumulate_few<Rows, 1>(tile, row, values, n_keys, ahead);
        row += 1;
        break;
      case 4:
        accumulate_few<Rows, 4>(tile, row, values, n_keys, ahead);
        row += 4;
        break;
      default:
        accumulate_few<Rows, 2>(tile, row, values, n_keys, ahead);
        row += 2;
        break;
    }
  }
}

PARLANCE_SIMD void softmax_row(const Tile& tile, int64_t row, int64_t n_keys) {
  float* scores = tile.scores + row * kKeyBlock;
  const int64_t n = tile.visible[row];
  const int64_t n_whole = n / kWidth * kWidth;
  // Lanes past the visible ones are set so that whole vectors can be taken: they weigh nothing.
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  for (int64_t j = n; j < align_up<int64_t>(n, kWidth); ++j) scores[j] = kUnseen;

  F block_largest = Lanes::broadcast(kUnseen);
  for (int64_t j = 0; j < n; j += kWidth)
    block_largest = Lanes::maximum(block_largest, Lanes::load(scores + j));
  const float largest = std::max(tile.largest[row], Lanes::largest(block_largest));
  if (largest > tile.largest[row]) {
    float before[kWidth];
    Lanes::store(before, Lanes::exp(Lanes::broadcast(tile.largest[row] - largest)));
    const F shrink = Lanes::broadcast(before[0]);
    float* out = tile.out + row * tile.out_stride;
    for (int64_t i = 0; i < tile.out_stride; i += kWidth) {
      Lanes::store(out + i, Lanes::multiply(Lanes::load(out + i), shrink));
    }
    tile.sum[row] *= before[0];
    tile.largest[row] = largest;
  }

  const F shift = Lanes::broadcast(largest);
  F sum = Lanes::zero();
  for (int64_t j = 0; j < n_whole; j += kWidth) {
    const F weight = Lanes::exp(Lanes::subtract(Lanes::load(scores + j), shift));
    Lanes::store(scores + j, weight);
    sum = Lanes::add(sum, weight);
  }
  if (n_whole < n) {
    F weight = Lanes::exp(Lanes::subtract(Lanes::load(scores + n_whole), shift));
    Lanes::store_first(scores + n_whole, weight, n - n_whole);
    sum = Lanes::add(sum, Lanes::load_first(scores + n_whole, n - n_whole));
  }
  tile.sum[row] += Lanes::sum(sum);
  std::fill(scores + n, scores + n_keys, 0.0f);
}

PARLANCE_SIMD void softmax(const Tile& tile, int64_t n_keys) {
  for (int64_t row = 0; row < tile.n_rows; ++row) {
    if (tile.visible[row] > 0) {
      softmax_row(tile, row, n_keys);
    } else {
      std::fill_n(tile.scores + row * kKeyBlock, n_keys, 0.0f);
    }
  }
}

// In the order of KvFormat.
constexpr Kernels kKernels = {
    {score<F32Rows>, score<F16Rows>, score<Bf16Rows>, score<Q8Rows>},
    {accumulate<F32Rows>, accumulate<F16Rows>, accumulate<Bf16Rows>, accumulate<Q8Rows>},
    softmax,
};
