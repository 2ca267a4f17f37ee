// The recurrence for many tokens, with a lane for each value: included after vectors.simd.h. Values do
// not see each other, so that what there is one of for a key is taken for a vector of values at once, and the
// state, transposed, is updated by a token in the same pass in which the next one looks at it.
//
// Every sum is the same bits as in token_kernels.simd.h: the product of a row of the state with k or q has
// four chains, key i in chain i mod 4, of which 0 and 2, and 1 and 3 meet first.

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

// What a token changes in the state, for kVectors vectors of values.
template <int kVectors>
struct Change {
  const float* k;
  F left;
  F learned[kVectors];
};

template <int kVectors>
PARLANCE_SIMD PARLANCE_INLINE void change_key(const Change<kVectors>& change, int64_t key, float* state,
                                              F (&x)[kVectors]) {
  const F k = Lanes::broadcast(change.k[key]);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    x[v] = Lanes::multiply_add(change.learned[v], k, Lanes::multiply(change.left, x[v]));
    Lanes::store(state + v * kWidth, x[v]);
  }
}

// Products of the state, after a change if there is one, with k and q of a token.
template <int kVectors, bool kChanges>
PARLANCE_SIMD PARLANCE_INLINE void look_at_state(const Change<kVectors>& change, const float* k,
                                                 const float* q, int64_t n_keys, float* state,
                                                 F (&along)[2][kVectors]) {
  F sums[2][4][kVectors];
#pragma GCC unroll 4
  for (int chain = 0; chain < 4; ++chain) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[0][chain][v] = sums[1][chain][v] = Lanes::zero();
  }
  for (int64_t first = 0; first < n_keys; first += 4) {
#pragma GCC unroll 4
    for (int chain = 0; chain < 4; ++chain) {
      const int64_t key = first + chain;
      float* own = state + key * kVectors * kWidth;
      F x[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) x[v] = Lanes::load(own + v * kWidth);
      if constexpr (kChanges) change_key<kVectors>(change, key, own, x);
      const F key_element = Lanes::broadcast(k[key]), query_element = Lanes::broadcast(q[key]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[0][chain][v] = Lanes::multiply_add(x[v], key_element, sums[0][chain][v]);
        sums[1][chain][v] = Lanes::multiply_add(x[v], query_element, sums[1][chain][v]);
      }
    }
  }
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      along[p][v] =
          Lanes::add(Lanes::add(sums[p][0][v], sums[p][2][v]), Lanes::add(sums[p][1][v], sums[p][3][v]));
    }
  }
}

// All tokens of a chunk for kVectors vectors of values from `column` on.
template <int kVectors>
PARLANCE_SIMD void advance_some_columns(const Chunk& chunk, int64_t column, float* state) {
  Change<kVectors> change{};
  for (int64_t token = 0; token < chunk.n_tokens; ++token) {
    const float* k = chunk.k + token * chunk.stride;
    const float* q = chunk.q + token * chunk.stride;
    F along[2][kVectors];
    if (token == 0) {
      look_at_state<kVectors, false>(change, k, q, chunk.head_dim, state, along);
    } else {
      look_at_state<kVectors, true>(change, k, q, chunk.head_dim, state, along);
    }
    const F decay = Lanes::broadcast(chunk.decay[token]), beta = Lanes::broadcast(chunk.beta[token]);
    const float* value = chunk.v + token * chunk.v_stride + column;
    float* out = chunk.out + token * chunk.out_stride + column;
    change.k = k;
    change.left = decay;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const F seen = Lanes::multiply(decay, along[0][v]);
      const F error = Lanes::multiply(beta, Lanes::subtract(Lanes::load(value + v * kWidth), seen));
      Lanes::store(out + v * kWidth, Lanes::add(Lanes::multiply(decay, along[1][v]),
                                                Lanes::multiply(Lanes::broadcast(chunk.kq[token]), error)));
      change.learned[v] = error;
    }
  }
  for (int64_t key = 0; key < chunk.head_dim; ++key) {
    float* own = state + key * kVectors * kWidth;
    F x[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) x[v] = Lanes::load(own + v * kWidth);
    change_key<kVectors>(change, key, own, x);
  }
}

constexpr int kColumnVectors = Lanes::kRegisters == 32 ? 2 : 1;

// As many columns of a state as are worked on at once lie together, so that they stay in the first-level
// cache: [head_dim][width], one such block after the other.
PARLANCE_INLINE int64_t width_of_block(int64_t column, int64_t n_values) {
  return column + kColumnVectors * kWidth <= n_values ? kColumnVectors * kWidth : kWidth;
}

PARLANCE_SIMD void advance_columns(const Chunk& chunk, float* state) {
  for (int64_t column = 0, width; column < chunk.n_values; column += width) {
    width = width_of_block(column, chunk.n_values);
    float* own = state + column * chunk.head_dim;
    if (width == kColumnVectors * kWidth) {
      advance_some_columns<kColumnVectors>(chunk, column, own);
    } else {
      advance_some_columns<1>(chunk, column, own);
    }
  }
}

PARLANCE_SIMD void to_columns(const float* rows, int64_t n_values, int64_t head_dim, float* columns) {
  for (int64_t column = 0, width; column < n_values; column += width) {
    width = width_of_block(column, n_values);
    transpose(rows + column * head_dim, head_dim, width, head_dim, columns + column * head_dim, width);
  }
}

PARLANCE_SIMD void from_columns(const float* columns, int64_t n_values, int64_t head_dim, float* rows) {
  for (int64_t column = 0, width; column < n_values; column += width) {
    width = width_of_block(column, n_values);
    transpose(columns + column * head_dim, width, head_dim, width, rows + column * head_dim, head_dim);
  }
}
