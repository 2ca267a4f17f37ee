// The transforms between head vectors and stored values. These *.simd.h are written once for all instruction
// sets and included, this one first, inside a namespace of its own by avx2.cpp, avx512.cpp and neon.cpp,
// which define PARLANCE_SIMD (the function attribute) and `Lanes`, which adds to the lanes of simd/:
//   kRowVectors                  vectors of a row of rows_of_best()
//   swap_lanes<distance>(a)      lane i is a[i ^ distance]
//   magnitude, minimum, round    of each lane; halves are rounded to even
//   select_above(a, b, x, y)     a > b ? x : y
//   lanes_above(a, b), lanes_equal(a, b)   a bit for each lane, the first one lowest
//   no_codes(), count_above(codes, a, b)   0, and codes + (a > b)
//   truncate(a)                  codes
//   join_nibbles(low, high)      codes of two nibbles
//   store_bytes(out, codes)      the codes' low bytes
//   rows_of_best(best, rows)     see trellis.simd.h

using F = Lanes::F;
using I = Lanes::I;
constexpr int kWidth = Lanes::kWidth;

template <size_t kSize>
PARLANCE_SIMD PARLANCE_INLINE void load_block(const float* x, F (&v)[kSize]) {
#pragma GCC unroll 64
  for (size_t i = 0; i < kSize; ++i) v[i] = Lanes::load(x + i * kWidth);
}

template <size_t kSize>
PARLANCE_SIMD PARLANCE_INLINE void store_block(const F (&v)[kSize], float* x) {
#pragma GCC unroll 64
  for (size_t i = 0; i < kSize; ++i) Lanes::store(x + i * kWidth, v[i]);
}

template <size_t kSize>
PARLANCE_SIMD PARLANCE_INLINE void multiply_block(F (&v)[kSize], F factor) {
#pragma GCC unroll 64
  for (size_t i = 0; i < kSize; ++i) v[i] = Lanes::multiply(v[i], factor);
}

template <size_t kSize>
PARLANCE_SIMD PARLANCE_INLINE void multiply_signs(F (&v)[kSize], const float* signs) {
#pragma GCC unroll 64
  for (size_t i = 0; i < kSize; ++i) v[i] = Lanes::multiply(v[i], Lanes::load(signs + i * kWidth));
}

// -1 where a lane is the second one of a butterfly.
template <int distance>
constexpr std::array<float, kWidth> second_is_negative() {
  std::array<float, kWidth> signs{};
  for (int i = 0; i < kWidth; ++i) signs[static_cast<size_t>(i)] = i & distance ? -1.0f : 1.0f;
  return signs;
}
template <int distance>
alignas(64) constexpr std::array<float, kWidth> kButterflySigns = second_is_negative<distance>();

// Butterflies of lanes within each vector, distances 1, 2, 4, … ascending as in quant/hadamard.h.
template <int distance, size_t kSize>
PARLANCE_SIMD PARLANCE_INLINE void butterflies_of_lanes(F (&v)[kSize]) {
  if constexpr (distance < kWidth) {
    const F signs = Lanes::load(kButterflySigns<distance>.data());
#pragma GCC unroll 64
    for (size_t i = 0; i < kSize; ++i) {
      v[i] = Lanes::multiply_add(v[i], signs, Lanes::template swap_lanes<distance>(v[i]));
    }
    butterflies_of_lanes<2 * distance>(v);
  }
}

template <size_t distance, size_t kSize>
PARLANCE_SIMD PARLANCE_INLINE void butterflies_of_vectors(F (&v)[kSize]) {
  if constexpr (distance < kSize) {
#pragma GCC unroll 64
    for (size_t i = 0; i < kSize; ++i) {
      if (i & distance) continue;
      const F a = v[i], b = v[i + distance];
      v[i] = Lanes::add(a, b);
      v[i + distance] = Lanes::subtract(a, b);
    }
    butterflies_of_vectors<2 * distance>(v);
  }
}

// The Walsh-Hadamard transform of all values of v.
template <size_t kSize>
PARLANCE_SIMD PARLANCE_INLINE void hadamard(F (&v)[kSize]) {
  butterflies_of_lanes<1>(v);
  butterflies_of_vectors<1>(v);
}

// out = after * factor H (before * x), block by block; null signs are all +1.
template <int kSize>
PARLANCE_SIMD void rotate_blocks(const float* x, float* out, int64_t n, float factor, const float* before,
                                 const float* after) {
  for (int64_t i = 0; i < n; i += kSize) {
    F v[kSize / kWidth];
    load_block(x + i, v);
    if (before) multiply_signs(v, before);
    hadamard(v);
    multiply_block(v, Lanes::broadcast(factor));
    if (after) multiply_signs(v, after);
    store_block(v, out + i);
  }
}

PARLANCE_SIMD void rotate_heads(const float* x, float* out, int64_t n) {
  const int64_t block = hadamard_block(n);
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(block)));
  if (block == 64) return rotate_blocks<64>(x, out, n, factor, nullptr, nullptr);
  if (block == 128) return rotate_blocks<128>(x, out, n, factor, nullptr, nullptr);
  if (block == 256) return rotate_blocks<256>(x, out, n, factor, nullptr, nullptr);
  parlance::to_stored(KvTransform::hadamard, x, out, n);
}

// out [kSketchOutputs] = m^T x [kSketchInputs]. Several rows of the matrix are read side by side, so that
// each sum is loaded and stored once for all of them.
PARLANCE_SIMD void multiply_transposed(const SketchMatrix& m, const float* x, float* out) {
  constexpr int64_t kRows = 8;
  std::fill_n(out, kSketchOutputs, 0.0f);
  for (int64_t i = 0; i < kSketchInputs; i += kRows) {
    F values[kRows];
#pragma GCC unroll 8
    for (int64_t row = 0; row < kRows; ++row) values[row] = Lanes::broadcast(x[i + row]);
    for (int64_t j = 0; j < kSketchOutputs; j += kWidth) {
      F sum = Lanes::load(out + j);
#pragma GCC unroll 8
      for (int64_t row = 0; row < kRows; ++row) {
        sum = Lanes::multiply_add(values[row], Lanes::load(m.data() + (i + row) * kSketchOutputs + j), sum);
      }
      Lanes::store(out + j, sum);
    }
  }
}

// out [kSketchInputs] = m y [kSketchOutputs]
PARLANCE_SIMD void multiply_sketch(const SketchMatrix& m, const float* y, float* out) {
  for (int64_t i = 0; i < kSketchInputs; i += kWidth) {
    F sums[kWidth];
#pragma GCC unroll 16
    for (F& sum : sums) sum = Lanes::zero();
    const float* rows = m.data() + i * kSketchOutputs;
    for (int64_t j = 0; j < kSketchOutputs; j += kWidth) {
      const F value = Lanes::load(y + j);
#pragma GCC unroll 16
      for (int row = 0; row < kWidth; ++row) {
        sums[row] = Lanes::multiply_add(value, Lanes::load(rows + row * kSketchOutputs + j), sums[row]);
      }
    }
    Lanes::store(out + i, Lanes::sums_of(sums));
  }
}

inline const SketchMatrix& reader_of(KvTransform transform) {
  return transform == KvTransform::sketch ? sketch_unbiased() : sketch_least_squares();
}

PARLANCE_SIMD void transform_to_stored(KvTransform transform, const float* q, float* stored, int64_t n) {
  switch (transform) {
    case KvTransform::none:
      std::copy_n(q, n, stored);
      return;
    case KvTransform::hadamard:
      return rotate_heads(q, stored, n);
    case KvTransform::signed_hadamard_32:
      return rotate_blocks<32>(q, stored, n, kInverseRoot32, kSigns32.data(), nullptr);
    case KvTransform::signed_hadamard_128:
      return rotate_blocks<128>(q, stored, n, kInverseRoot128, kSigns128Before.data(), kSigns128After.data());
    case KvTransform::hadamard_128:
      return rotate_blocks<128>(q, stored, n, 1.0f / 128, nullptr, nullptr);
    case KvTransform::sketch:
    case KvTransform::sketch_least_squares:
      for (int64_t i = 0; i < n; i += kSketchInputs) {
        multiply_transposed(reader_of(transform), q + i, stored + 2 * i);
      }
      return;
  }
}

PARLANCE_SIMD void transform_from_stored(KvTransform transform, const float* stored, float* x, int64_t n) {
  switch (transform) {
    case KvTransform::none:
    case KvTransform::hadamard:
    case KvTransform::hadamard_128:
      return transform_to_stored(transform, stored, x, n);  // symmetric
    case KvTransform::signed_hadamard_32:
      return rotate_blocks<32>(stored, x, n, kInverseRoot32, nullptr, kSigns32.data());
    case KvTransform::signed_hadamard_128:
      return rotate_blocks<128>(stored, x, n, kInverseRoot128, kSigns128After.data(), kSigns128Before.data());
    case KvTransform::sketch:
    case KvTransform::sketch_least_squares:
      for (int64_t i = 0; i < n; i += kSketchInputs) {
        multiply_sketch(reader_of(transform), stored + 2 * i, x + i);
      }
      return;
  }
}
