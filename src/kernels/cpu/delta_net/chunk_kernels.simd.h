// The recurrence for kChunk tokens at once, as matrix products (the chunkwise form of Yang et al., 2024);
// included after vectors.simd.h.
//
// With S the state before the chunk, g(t, s) the product of the decays after token s up to token t, and g(t)
// that of all up to token t, the recurrence unrolls to
//   S_t = g(t) S + sum over s <= t of g(t, s) k_s d_s^T
//   d_t = beta_t (v_t - g(t) k_t^T S - sum over s < t of g(t, s) (k_t k_s) d_s)
//   out_t = g(t) q_t^T S + sum over s <= t of g(t, s) (q_t k_s) d_s
// All g are products of decays, never quotients, so that strong decay ends in zero and not in overflow.

constexpr int64_t kReadAhead = 2;  // tokens at a time
constexpr int kPanelRows = 4;
constexpr int kPanelVectors = Lanes::kRegisters == 32 ? 4 : 2;

// A matrix whose elements are taken one at a time.
struct Elements {
  const float* first;
  int64_t row_stride;
  int64_t column_stride;

  PARLANCE_SIMD PARLANCE_INLINE Elements from_row(int64_t row) const {
    return {first + row * row_stride, row_stride, column_stride};
  }
};

// What becomes of the old elements of a product's result: row r is multiplied by factors[r * stride]. No
// factors: they do not count, and may be anything.
struct RowFactors {
  const float* first = nullptr;
  int64_t stride = 0;

  PARLANCE_SIMD PARLANCE_INLINE RowFactors from_row(int64_t row) const {
    return {first + row * stride, stride};
  }
};

// c [kRows][kVectors * kWidth] = factors c + a [kRows][depth] b [depth][kVectors * kWidth]
template <int kRows, int kVectors, bool kAdds>
PARLANCE_SIMD void multiply_panel(const Elements& a, const float* b, int64_t b_stride, int64_t depth,
                                  const RowFactors& factors, float* c, int64_t c_stride) {
  F sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    F factor;
    if constexpr (kAdds) factor = Lanes::broadcast(factors.first[r * factors.stride]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kAdds) {
        sums[r][v] = Lanes::multiply(factor, Lanes::load(c + r * c_stride + v * kWidth));
      } else {
        sums[r][v] = Lanes::zero();
      }
    }
  }
  const float* x = a.first;
  for (int64_t k = 0; k < depth; ++k) {
    F row[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) row[v] = Lanes::load(b + v * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F element = Lanes::broadcast(x[r * a.row_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Lanes::multiply_add(element, row[v], sums[r][v]);
    }
    x += a.column_stride;
    b += b_stride;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) Lanes::store(c + r * c_stride + v * kWidth, sums[r][v]);
  }
}

template <int kVectors, bool kAdds>
PARLANCE_SIMD void multiply_columns(int64_t n_rows, const Elements& a, const float* b, int64_t b_stride,
                                    int64_t depth, const RowFactors& factors, float* c, int64_t c_stride) {
  int64_t row = 0;
  for (; row + kPanelRows <= n_rows; row += kPanelRows) {
    multiply_panel<kPanelRows, kVectors, kAdds>(a.from_row(row), b, b_stride, depth, factors.from_row(row),
                                                c + row * c_stride, c_stride);
  }
  for (int64_t rest = n_rows % kPanelRows; rest > 0; --rest, ++row) {
    multiply_panel<1, kVectors, kAdds>(a.from_row(row), b, b_stride, depth, factors.from_row(row),
                                       c + row * c_stride, c_stride);
  }
}

// c [n_rows][n_columns] = a [n_rows][depth] b [depth][n_columns] (+ factors c), n_columns a multiple of
// kWidth.
template <bool kAdds>
PARLANCE_SIMD void multiply(int64_t n_rows, const Elements& a, const float* b, int64_t b_stride,
                            int64_t depth, const RowFactors& factors, float* c, int64_t c_stride,
                            int64_t n_columns) {
  int64_t i = 0;
  for (; i + kPanelVectors * kWidth <= n_columns; i += kPanelVectors * kWidth) {
    multiply_columns<kPanelVectors, kAdds>(n_rows, a, b + i, b_stride, depth, factors, c + i, c_stride);
  }
  for (; i < n_columns; i += kWidth) {
    multiply_columns<1, kAdds>(n_rows, a, b + i, b_stride, depth, factors, c + i, c_stride);
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
  float* keys;    // -beta_t g(t, s) (k_t k_s)
  float* reads;   // g(t, s) (q_t k_s)
};

PARLANCE_SIMD void compare_tokens(const Chunk& chunk, const float* keys_transposed, const Pairs& pairs) {
  const int64_t n_tokens = chunk.n_tokens, stride = chunk.stride;
  for (int64_t token = 0; token < n_tokens; token += kPanelRows) {
    const int64_t n_rows = std::min<int64_t>(kPanelRows, n_tokens - token);
    const int64_t n_columns = align_up<int64_t>(token + n_rows, kWidth);
    multiply<false>(n_rows, {chunk.k + token * stride, stride, 1}, keys_transposed, kChunk, stride, {},
                    pairs.keys + token * kChunk, kChunk, n_columns);
    multiply<false>(n_rows, {chunk.q + token * stride, stride, 1}, keys_transposed, kChunk, stride, {},
                    pairs.reads + token * kChunk, kChunk, n_columns);
  }
  std::fill_n(pairs.decays, kChunk, 0.0f);
  for (int64_t token = 0; token < n_tokens; ++token) {
    float* decays = pairs.decays + token * kChunk;
    if (token > 0) scale(decays - kChunk, chunk.decay[token], kChunk, decays);
    decays[token] = 1;
    const F minus_beta = Lanes::broadcast(-chunk.beta[token]);
    for (int64_t i = 0; i <= token; i += kWidth) {
      float* key = pairs.keys + token * kChunk + i;
      float* read = pairs.reads + token * kChunk + i;
      const F decay = Lanes::load(decays + i);
      Lanes::store(key, Lanes::multiply(Lanes::multiply(minus_beta, decay), Lanes::load(key)));
      Lanes::store(read, Lanes::multiply(decay, Lanes::load(read)));
    }
  }
}

// learned = k^T S becomes d, value by value: kVectors vectors from `column` on.
template <int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void learn_columns(const Chunk& chunk, const float* left, const float* keys,
                                                 float* learned, int64_t column) {
  for (int64_t token = 0; token < chunk.n_tokens; ++token) {
    const F beta = Lanes::broadcast(chunk.beta[token]);
    const F minus_left = Lanes::broadcast(-left[token]);
    float* d = learned + token * chunk.n_values + column;
    const float* value = chunk.v + token * chunk.v_stride + column;
    F sums[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const F error =
          Lanes::multiply_add(minus_left, Lanes::load(d + v * kWidth), Lanes::load(value + v * kWidth));
      sums[v] = Lanes::multiply(beta, error);
    }
    for (int64_t s = 0; s < token; ++s) {
      const F key = Lanes::broadcast(keys[token * kChunk + s]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const F before = Lanes::load(learned + s * chunk.n_values + column + v * kWidth);
        sums[v] = Lanes::multiply_add(key, before, sums[v]);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) Lanes::store(d + v * kWidth, sums[v]);
  }
}

PARLANCE_SIMD void learn(const Chunk& chunk, const float* left, const float* keys, float* learned) {
  constexpr int kVectors = 8;
  int64_t i = 0;
  for (; i + kVectors * kWidth <= chunk.n_values; i += kVectors * kWidth) {
    learn_columns<kVectors>(chunk, left, keys, learned, i);
  }
  for (; i < chunk.n_values; i += kWidth) learn_columns<1>(chunk, left, keys, learned, i);
}

PARLANCE_INLINE void read_ahead(const float* x, int64_t n) {
  constexpr int64_t kLine = 64 / sizeof(float);
  for (int64_t i = 0; i < n; i += kLine) __builtin_prefetch(x + i);
}

PARLANCE_SIMD void advance_chunk(const Chunk& chunk, float* state) {
  const int64_t n_tokens = chunk.n_tokens, n = chunk.head_dim, n_values = chunk.n_values;
  float* keys_transposed = chunk.workspace;       // [n][kChunk]: k
  float* learned = keys_transposed + kChunk * n;  // [kChunk][n_values]: k^T S, then d
  Pairs pairs;
  pairs.decays = learned + kChunk * n_values;
  pairs.keys = pairs.decays + kChunk * kChunk;
  pairs.reads = pairs.keys + kChunk * kChunk;
  transpose(chunk.k, chunk.stride, kChunk, n, keys_transposed, kChunk);
  compare_tokens(chunk, keys_transposed, pairs);

  // What k and q see of the state before the chunk. The tokens' values are read ahead meanwhile, and the next
  // tokens' heads while the state is updated: a token's heads lie far from those of the token before, at
  // distances that let few of them share the cache.
  constexpr int64_t kColumns = kPanelVectors * kWidth;
  int64_t ahead = 0;
  for (int64_t column = 0; column < n_values; column += kColumns) {
    const int64_t n_columns = std::min(kColumns, n_values - column);
    for (int64_t token = 0; token < n_tokens; token += kPanelRows) {
      const int64_t n_rows = std::min<int64_t>(kPanelRows, n_tokens - token);
      for (const int64_t last = std::min(ahead + kReadAhead, n_tokens); ahead < last; ++ahead) {
        read_ahead(chunk.v + ahead * chunk.v_stride, n_values);
      }
      multiply<false>(n_rows, {chunk.k + token * n, n, 1}, state + column, n_values, n, {},
                      learned + token * n_values + column, n_values, n_columns);
      multiply<false>(n_rows, {chunk.q + token * n, n, 1}, state + column, n_values, n, {},
                      chunk.out + token * chunk.out_stride + column, chunk.out_stride, n_columns);
    }
  }

  float left[kChunk];  // g(t)
  std::partial_sum(chunk.decay, chunk.decay + n_tokens, left, std::multiplies<>());
  learn(chunk, left, pairs.keys, learned);
  for (int64_t token = 0; token < n_tokens; token += kPanelRows) {
    const int64_t n_rows = std::min<int64_t>(kPanelRows, n_tokens - token);
    multiply<true>(n_rows, {pairs.reads + token * kChunk, kChunk, 1}, learned, n_values, token + n_rows,
                   {left + token, 1}, chunk.out + token * chunk.out_stride, chunk.out_stride, n_values);
  }

  for (int64_t token = 0; token < n_tokens; ++token) {
    float* d = learned + token * n_values;
    scale(d, pairs.decays[(n_tokens - 1) * kChunk + token], n_values, d);
  }
  ahead = 0;
  for (int64_t key = 0; key < n; key += kStrideElements) {
    for (const int64_t last = std::min(ahead + kReadAhead, chunk.n_next_tokens); ahead < last; ++ahead) {
      read_ahead(chunk.next_q + ahead * chunk.v_stride, n);
      read_ahead(chunk.next_k + ahead * chunk.v_stride, n);
    }
    multiply<true>(kStrideElements, {chunk.k + key, 1, chunk.stride}, learned, n_values, n_tokens,
                   {left + n_tokens - 1, 0}, state + key * n_values, n_values, n_values);
  }
}
