// The recurrence one token after the other; included after vectors.simd.h.
//
// A value's row of the state is read twice for each token, for the products with k and q and for the update.
// A few rows at a time go through all tokens of the chunk, so that only the first of these reads leaves the
// first-level cache: the state comes from memory and returns there once.

// x y, rows of q or k.
PARLANCE_SIMD float dot(const float* x, const float* y, int64_t stride) {
  F sum = Lanes::zero();
  for (int64_t i = 0; i < stride; i += kWidth) {
    sum = Lanes::multiply_add(Lanes::load(x + i), Lanes::load(y + i), sum);
  }
  return Lanes::sum(sum);
}

constexpr int kQuadRows = kWidth / 4;  // rows that share a vector, four keys of each

// products += kWidth keys from i on of rows of the state, times those of the token's k, then of its q.
template <int kGroups>
PARLANCE_SIMD PARLANCE_INLINE void add_keys(F (&rows)[kGroups][kQuadRows], const float* k, const float* q,
                                            int64_t i, F (&products)[2][kGroups]) {
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) Lanes::transpose_quads(rows[g]);
#pragma GCC unroll 4
  for (int quad = 0; quad < kQuadRows; ++quad) {
    const F key = Lanes::quads_of(k + i + 4 * quad), query = Lanes::quads_of(q + i + 4 * quad);
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      products[0][g] = Lanes::multiply_add(rows[g][quad], key, products[0][g]);
      products[1][g] = Lanes::multiply_add(rows[g][quad], query, products[1][g]);
    }
  }
}

// along = products of kRows rows of the state with k, then with q, in the order of column_kernels.simd.h.
template <int kRows>
PARLANCE_SIMD PARLANCE_INLINE void multiply_rows(const float* state, int64_t n, const float* k,
                                                 const float* q, float (&along)[2 * kRows]) {
  if constexpr (kRows == 1) {
    for (int p = 0; p < 2; ++p) {
      float chains[4] = {};
      for (int64_t i = 0; i < n; ++i)
        chains[i % 4] = __builtin_fmaf(state[i], (p == 0 ? k : q)[i], chains[i % 4]);
      along[p] = (chains[0] + chains[2]) + (chains[1] + chains[3]);
    }
  } else {
    constexpr int kGroups = kRows / kQuadRows;
    const int64_t n_whole = n / kWidth * kWidth;
    F products[2][kGroups];
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) products[0][g] = products[1][g] = Lanes::zero();
    F rows[kGroups][kQuadRows];
    for (int64_t i = 0; i < n_whole; i += kWidth) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) rows[r / kQuadRows][r % kQuadRows] = Lanes::load(state + r * n + i);
      add_keys<kGroups>(rows, k, q, i, products);
    }
    if (n_whole < n) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        rows[r / kQuadRows][r % kQuadRows] = Lanes::load_first(state + r * n + n_whole, n - n_whole);
      }
      add_keys<kGroups>(rows, k, q, n_whole, products);
    }
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        Lanes::store_quad_sums(along + p * kRows + g * kQuadRows, products[p][g]);
      }
    }
  }
}

// One token for the kRows values from `value` on, whose rows of the state these are.
template <int kRows>
PARLANCE_SIMD void advance_rows(const Chunk& chunk, int64_t token, int64_t value, float* state) {
  const int64_t n = chunk.head_dim;
  const int64_t n_whole = n / kWidth * kWidth;
  const float* k = chunk.k + token * chunk.stride;
  const float* q = chunk.q + token * chunk.stride;
  float along[2 * kRows];
  multiply_rows<kRows>(state, n, k, q, along);

  // What q sees of the new state follows from what it sees of the old one.
  const float decay = chunk.decay[token], beta = chunk.beta[token];
  const float* v = chunk.v + token * chunk.v_stride + value;
  float* out = chunk.out + token * chunk.out_stride + value;
  F learned[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const float error = beta * (v[r] - decay * along[r]);
    out[r] = decay * along[kRows + r] + chunk.kq[token] * error;
    learned[r] = Lanes::broadcast(error);
  }

  const F left = Lanes::broadcast(decay);
  for (int64_t i = 0; i < n_whole; i += kWidth) {
    const F key = Lanes::load(k + i);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      float* x = state + r * n + i;
      Lanes::store(x, Lanes::multiply_add(learned[r], key, Lanes::multiply(left, Lanes::load(x))));
    }
  }
  if (n_whole < n) {
    const F key = Lanes::load(k + n_whole);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      float* x = state + r * n + n_whole;
      const F old = Lanes::load_first(x, n - n_whole);
      Lanes::store_first(x, Lanes::multiply_add(learned[r], key, Lanes::multiply(left, old)), n - n_whole);
    }
  }
}

PARLANCE_SIMD void advance_tokens(const Chunk& chunk, float* state) {
  constexpr int kRows = kWidth == 4 ? 4 : 8;
  constexpr int64_t kLine = 64 / sizeof(float);
  const int64_t n = chunk.head_dim, n_values = chunk.n_values;
  int64_t value = 0;
  for (; value + kRows <= n_values; value += kRows) {
    float* rows = state + value * n;
    float* next = rows + kRows * n;  // read ahead while these are worked on
    const int64_t n_next = std::min<int64_t>(kRows, n_values - value - kRows) * n;
    for (int64_t i = 0; i < n_next; i += kLine) __builtin_prefetch(next + i, 1, 2);
    for (int64_t token = 0; token < chunk.n_tokens; ++token) {
      advance_rows<kRows>(chunk, token, value, rows);
    }
  }
  for (; value < n_values; ++value) {
    for (int64_t token = 0; token < chunk.n_tokens; ++token) {
      advance_rows<1>(chunk, token, value, state + value * n);
    }
  }
}
