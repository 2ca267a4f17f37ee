// The recurrence for kChunk tokens at once, as matrix products (the chunkwise form of Yang et al., 2024);
// included after token_kernels.simd.h.
//
// With S the state before the chunk, g(t, s) the product of the decays after token s up to token t, and g(t)
// that of all up to token t, the recurrence unrolls to
//   S_t = g(t) S + sum over s <= t of g(t, s) k_s d_s^T
//   d_t = beta_t (v_t - g(t) k_t^T S - sum over s < t of g(t, s) (k_t k_s) d_s)
//   out_t = g(t) q_t^T S + sum over s <= t of g(t, s) (q_t k_s) d_s
// All g are products of decays, never quotients, so that strong decay ends in zero and not in overflow.

constexpr int kPanelRows = 4;
constexpr int kPanelVectors = Lanes::kRegisters == 32 ? 4 : 2;

// A matrix whose elements are taken one at a time.
struct Elements {
  const float* first;
  int64_t row_stride;
  int64_t column_stride;
};

// c [kPanelRows][kVectors * kWidth] = factor c + a [kPanelRows][depth] b [depth][kVectors * kWidth]
template <int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void multiply_panel(const Elements& a, const float* b, int64_t b_stride,
                                                  int64_t depth, float factor, float* c, int64_t c_stride) {
  F sums[kPanelRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kPanelRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] =
          factor == 0 ? Lanes::zero()
                      : Lanes::multiply(Lanes::broadcast(factor), Lanes::load(c + r * c_stride + v * kWidth));
    }
  }
  const float* x = a.first;
  for (int64_t k = 0; k < depth; ++k) {
    F row[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) row[v] = Lanes::load(b + v * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < kPanelRows; ++r) {
      const F element = Lanes::broadcast(x[r * a.row_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Lanes::multiply_add(element, row[v], sums[r][v]);
    }
    x += a.column_stride;
    b += b_stride;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kPanelRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) Lanes::store(c + r * c_stride + v * kWidth, sums[r][v]);
  }
}

// The same for n_rows (a multiple of kPanelRows) and n_columns (of kWidth); with a factor of 0, c may hold
// anything.
PARLANCE_SIMD void multiply(int64_t n_rows, Elements a, const float* b, int64_t b_stride, int64_t depth,
                            float factor, float* c, int64_t c_stride, int64_t n_columns) {
  for (int64_t column = 0; column < n_columns;) {
    const bool is_wide = column + kPanelVectors * kWidth <= n_columns;
    Elements rows = a;
    for (int64_t row = 0; row < n_rows; row += kPanelRows) {
      float* panel = c + row * c_stride + column;
      if (is_wide) {
        multiply_panel<kPanelVectors>(rows, b + column, b_stride, depth, factor, panel, c_stride);
      } else {
        multiply_panel<1>(rows, b + column, b_stride, depth, factor, panel, c_stride);
      }
      rows.first += kPanelRows * a.row_stride;
    }
    column += is_wide ? kPanelVectors * kWidth : kWidth;
  }
}

PARLANCE_SIMD void transpose(const float* x, int64_t x_stride, int64_t n_rows, int64_t n_columns, float* out,
                             int64_t out_stride) {
  for (int64_t row = 0; row < n_rows; row += kWidth) {
    for (int64_t column = 0; column < n_columns; column += kWidth) {
      F tile[kWidth];
#pragma GCC unroll 16
      for (int i = 0; i < kWidth; ++i) tile[i] = Lanes::load(x + (row + i) * x_stride + column);
      Lanes::transpose(tile);
#pragma GCC unroll 16
      for (int i = 0; i < kWidth; ++i) Lanes::store(out + (column + i) * out_stride + row, tile[i]);
    }
  }
}

// out [n] = factor x
PARLANCE_SIMD PARLANCE_INLINE void scale(const float* x, float factor, int64_t n, float* out) {
  const F f = Lanes::broadcast(factor);
  for (int64_t i = 0; i < n; i += kWidth) Lanes::store(out + i, Lanes::multiply(f, Lanes::load(x + i)));
}

// What tokens of the chunk are to each other: [kChunk][kChunk] each, row t for token t. Elements past the
// diagonal are zero up to the end of their vector; what follows is not said.
struct Pairs {
  float* decays;  // g(t, s)
  float* keys;    // beta_t g(t, s) (k_t k_s)
  float* reads;   // g(t, s) (q_t k_s)
};

PARLANCE_SIMD void compare_tokens(const Chunk& chunk, const float* keys_transposed, const Pairs& pairs) {
  // k and q lie one after the other, and so do their products.
  for (int64_t row = 0; row < 2 * kChunk; row += kPanelRows) {
    const int64_t n_columns = align_up<int64_t>(row % kChunk + kPanelRows, kWidth);
    multiply(kPanelRows, {chunk.k + row * chunk.stride, chunk.stride, 1}, keys_transposed, kChunk,
             chunk.stride, 0, pairs.keys + row * kChunk, kChunk, n_columns);
  }
  std::fill_n(pairs.decays, kChunk, 0.0f);
  for (int64_t token = 0; token < kChunk; ++token) {
    float* decays = pairs.decays + token * kChunk;
    if (token > 0) scale(decays - kChunk, chunk.decay[token], kChunk, decays);
    decays[token] = 1;
    const F beta = Lanes::broadcast(chunk.beta[token]);
    for (int64_t i = 0; i <= token; i += kWidth) {
      float* key = pairs.keys + token * kChunk + i;
      float* read = pairs.reads + token * kChunk + i;
      const F decay = Lanes::load(decays + i);
      Lanes::store(key, Lanes::multiply(Lanes::multiply(beta, decay), Lanes::load(key)));
      Lanes::store(read, Lanes::multiply(decay, Lanes::load(read)));
    }
  }
}

// Columns [0, kVectors * kWidth) of learned [kChunk][stride]: row t -= keys[t][s] row s for all s < t, in
// order.
template <int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void substitute_columns(const float* keys, float* learned, int64_t stride) {
  for (int64_t token = 1; token < kChunk; ++token) {
    F sums[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[v] = Lanes::zero();
    for (int64_t s = 0; s < token; ++s) {
      const F key = Lanes::broadcast(keys[token * kChunk + s]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        sums[v] = Lanes::multiply_add(key, Lanes::load(learned + s * stride + v * kWidth), sums[v]);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* x = learned + token * stride + v * kWidth;
      Lanes::store(x, Lanes::subtract(Lanes::load(x), sums[v]));
    }
  }
}

PARLANCE_SIMD void substitute(const float* keys, float* learned, int64_t n_values) {
  constexpr int kVectors = 8;
  int64_t i = 0;
  for (; i + kVectors * kWidth <= n_values; i += kVectors * kWidth) {
    substitute_columns<kVectors>(keys, learned + i, n_values);
  }
  for (; i < n_values; i += kWidth) substitute_columns<1>(keys, learned + i, n_values);
}

PARLANCE_SIMD void advance_chunk(const Chunk& chunk, float* state) {
  const int64_t n = chunk.head_dim, n_values = chunk.n_values;
  float* rows = chunk.workspace;                   // [2 kChunk][n]: k and q as they meet the state
  float* keys_transposed = rows + 2 * kChunk * n;  // [n][kChunk]
  float* learned = keys_transposed + kChunk * n;   // [kChunk][n_values]: d
  Pairs pairs;
  pairs.decays = learned + kChunk * n_values;
  pairs.keys = pairs.decays + kChunk * kChunk;
  pairs.reads = pairs.keys + kChunk * kChunk;

  transpose(chunk.k, chunk.stride, kChunk, n, keys_transposed, kChunk);
  compare_tokens(chunk, keys_transposed, pairs);

  float left = 1;
  for (int64_t token = 0; token < kChunk; ++token) {
    left *= chunk.decay[token];
    scale(chunk.k + token * chunk.stride, -chunk.beta[token] * left, n, rows + token * n);
    scale(chunk.q + token * chunk.stride, left, n, rows + (kChunk + token) * n);
    scale(chunk.v + token * chunk.v_stride, chunk.beta[token], n_values, learned + token * n_values);
  }
  multiply(kChunk, {rows, n, 1}, state, n_values, n, 1, learned, n_values, n_values);
  multiply(kChunk, {rows + kChunk * n, n, 1}, state, n_values, n, 0, chunk.out, chunk.out_stride, n_values);

  substitute(pairs.keys, learned, n_values);

  for (int64_t row = 0; row < kChunk; row += kPanelRows) {
    multiply(kPanelRows, {pairs.reads + row * kChunk, kChunk, 1}, learned, n_values, row + kPanelRows, 1,
             chunk.out + row * chunk.out_stride, chunk.out_stride, n_values);
  }

  for (int64_t token = 0; token < kChunk; ++token) {
    float* d = learned + token * n_values;
    scale(d, pairs.decays[(kChunk - 1) * kChunk + token], n_values, d);
  }
  multiply(n, {chunk.k, 1, chunk.stride}, learned, n_values, kChunk, left, state, n_values, n_values);
}
