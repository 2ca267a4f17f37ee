// Rows of a cache by format, queries and results in f32: what the block kernels are made of. These *.simd.h
// are written once for all instruction sets and included, rows.simd.h first, inside a namespace of its own by
// avx2.cpp, avx512.cpp and neon.cpp, which define PARLANCE_SIMD (the function attribute) and `Lanes` (see
// simd/).

using F = Lanes::F;
constexpr int kWidth = Lanes::kWidth;

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

// x, or NaN where that is infinite. A score of minus infinity would have no weight, and what is damaged would
// not show.
PARLANCE_SIMD PARLANCE_INLINE F number_or_nan(F x) {
  return Lanes::multiply_add(x, Lanes::zero(), x);
}

// ---- Queries and results in f32 ----

inline size_t f32_query_bytes(int64_t head_dim) {
  return align_up(static_cast<size_t>(head_dim) * sizeof(float), size_t{64});
}

inline size_t no_workspace(int64_t) {
  return 0;
}

// The scaled query, padded with zeros.
PARLANCE_SIMD inline void prepare_f32(const Tile& tile, int64_t row, const float* query, float scale) {
  auto* scaled = tile.query<float>(row);
  const F factor = Lanes::broadcast(scale);
  int64_t i = 0;
  for (; i + kWidth <= tile.head_dim_k; i += kWidth) {
    Lanes::store(scaled + i, Lanes::multiply(Lanes::load(query + i), factor));
  }
  if (i < tile.head_dim_k) {
    Lanes::store(scaled + i, Lanes::multiply(Lanes::load_first(query + i, tile.head_dim_k - i), factor));
  }
}

inline void finish_f32(const Tile& tile, int64_t row, float* sums) {
  std::copy_n(tile.out + row * tile.out_stride, tile.head_dim_v, sums);
}

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

// What a kernel asks for beside each of its keys: so many bytes of what comes later, one after the other.
struct Ahead {
  const std::byte* start = nullptr;
  size_t key_bytes = 0;
};

PARLANCE_INLINE void read_ahead(const Ahead& ahead, int64_t first_key, int64_t last_key) {
  read_ahead(ahead.start, first_key, last_key, ahead.key_bytes);
}

// What a kernel of several passes over a block asks for, a part in each pass and of that a share with each
// step: a processor waits for few lines at a time, and waits best if it waits always.
class Requests {
 public:
  // Beside all of n_keys rows.
  PARLANCE_INLINE Requests(const Tile& tile, const std::byte* next, int64_t n_keys)
      : next_(next), end_(next ? next + static_cast<size_t>(n_keys) * tile.next_bytes : nullptr) {}

  // Takes the first `percent` of them away.
  PARLANCE_INLINE Requests take(int64_t percent) {
    const int64_t n_bytes = end_ - next_;
    Requests first = *this;
    first.end_ = next_ = next_ + std::min(n_bytes, align_up(n_bytes * percent / 100, kLine));
    return first;
  }
  PARLANCE_INLINE int64_t share(int64_t n_steps) const {
    return align_up(div_up<int64_t>(end_ - next_, n_steps), kLine);
  }
  PARLANCE_INLINE void ask(int64_t n_bytes) {
    for (const std::byte* const stop = std::min(end_, next_ + n_bytes); next_ < stop; next_ += kLine)
      __builtin_prefetch(next_, 0, 2);
  }

 private:
  static constexpr int64_t kLine = 64;
  const std::byte* next_;
  const std::byte* end_;
};

// How many of the block's positions some row of these sees.
inline int64_t most_visible(const Tile& tile, int64_t first_row, int64_t n_rows) {
  return *std::max_element(tile.visible + first_row, tile.visible + first_row + n_rows);
}
