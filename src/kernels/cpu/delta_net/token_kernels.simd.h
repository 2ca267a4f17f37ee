// The recurrence one token after the other; included after vectors.simd.h.
//
// A value's row of the state is read twice for each token, for the products with k and q and for the update.
// A few rows at a time go through all tokens of the chunk, so that only the first of these reads leaves the
// first-level cache: the state comes from memory and returns there once.

// x y, rows of q or k.
PARLANCE_SIMD PARLANCE_INLINE float dot(const float* x, const float* y, int64_t stride) {
  F sum = Lanes::zero();
  for (int64_t i = 0; i < stride; i += kWidth) {
    sum = Lanes::multiply_add(Lanes::load(x + i), Lanes::load(y + i), sum);
  }
  return Lanes::sum(sum);
}

// One token for the kRows values from `value` on, whose rows of the state these are. `kq` is the product of
// the token's k and q.
template <int kRows>
PARLANCE_SIMD void advance_rows(const Chunk& chunk, int64_t token, float kq, int64_t value, float* state) {
  static_assert(kRows == 1 || 2 * kRows % kWidth == 0);
  const int64_t n = chunk.head_dim;
  const int64_t n_whole = n / kWidth * kWidth;
  const float* k = chunk.k + token * chunk.stride;
  const float* q = chunk.q + token * chunk.stride;

  F products[2 * kRows];  // of the rows with k, then with q
#pragma GCC unroll 16
  for (int p = 0; p < 2 * kRows; ++p) products[p] = Lanes::zero();
  for (int64_t i = 0; i < n_whole; i += kWidth) {
    const F key = Lanes::load(k + i), query = Lanes::load(q + i);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const F row = Lanes::load(state + r * n + i);
      products[r] = Lanes::multiply_add(row, key, products[r]);
      products[kRows + r] = Lanes::multiply_add(row, query, products[kRows + r]);
    }
  }
  if (n_whole < n) {
    const F key = Lanes::load(k + n_whole), query = Lanes::load(q + n_whole);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const F row = Lanes::load_first(state + r * n + n_whole, n - n_whole);
      products[r] = Lanes::multiply_add(row, key, products[r]);
      products[kRows + r] = Lanes::multiply_add(row, query, products[kRows + r]);
    }
  }
  float along[2 * kRows];
  if constexpr (kRows == 1) {
    along[0] = Lanes::sum(products[0]);
    along[1] = Lanes::sum(products[1]);
  } else {
#pragma GCC unroll 4
    for (int p = 0; p < 2 * kRows; p += kWidth) {
      Lanes::store(along + p, Lanes::sums_of(reinterpret_cast<const F(&)[kWidth]>(products[p])));
    }
  }

  // What q sees of the new state follows from what it sees of the old one.
  const float decay = chunk.decay[token], beta = chunk.beta[token];
  const float* v = chunk.v + token * chunk.v_stride + value;
  float* out = chunk.out + token * chunk.out_stride + value;
  F learned[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const float error = beta * (v[r] - decay * along[r]);
    out[r] = decay * along[kRows + r] + kq * error;
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
  constexpr int kRows = std::max(kWidth / 2, 4);
  constexpr int64_t kLine = 64 / sizeof(float);
  const int64_t n = chunk.head_dim, n_values = chunk.n_values;
  float kq[kChunk];
  for (int64_t token = 0; token < chunk.n_tokens; ++token) {
    kq[token] = dot(chunk.k + token * chunk.stride, chunk.q + token * chunk.stride, chunk.stride);
  }
  int64_t value = 0;
  for (; value + kRows <= n_values; value += kRows) {
    float* rows = state + value * n;
    float* next = rows + kRows * n;  // read ahead while these are worked on
    const int64_t n_next = std::min<int64_t>(kRows, n_values - value - kRows) * n;
    for (int64_t i = 0; i < n_next; i += kLine) __builtin_prefetch(next + i, 1, 2);
    for (int64_t token = 0; token < chunk.n_tokens; ++token) {
      advance_rows<kRows>(chunk, token, kq[token], value, rows);
    }
  }
  for (; value < n_values; ++value) {
    for (int64_t token = 0; token < chunk.n_tokens; ++token) {
      advance_rows<1>(chunk, token, kq[token], value, state + value * n);
    }
  }
}
