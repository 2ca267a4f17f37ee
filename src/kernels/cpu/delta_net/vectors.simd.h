// What the kernels share, written once for all instruction sets. Included first, inside a namespace of its
// own, by avx2.cpp, avx512.cpp and neon.cpp, which define PARLANCE_SIMD (the function attribute) and `Lanes`
// (see simd/).

using F = Lanes::F;
constexpr int kWidth = Lanes::kWidth;

PARLANCE_SIMD void scale_to_length(const float* x, float length, float eps, int64_t n, float* out) {
  const int64_t n_whole = n / kWidth * kWidth;
  F squares = Lanes::zero();
  for (int64_t i = 0; i < n_whole; i += kWidth) {
    const F value = Lanes::load(x + i);
    squares = Lanes::multiply_add(value, value, squares);
  }
  const F rest = Lanes::load_first(x + n_whole, n - n_whole);
  const float norm = std::sqrt(Lanes::sum(Lanes::multiply_add(rest, rest, squares)));
  const F factor = Lanes::broadcast(length / std::max(norm, eps));
  for (int64_t i = 0; i < n_whole; i += kWidth)
    Lanes::store(out + i, Lanes::multiply(Lanes::load(x + i), factor));
  std::fill(out + n_whole, out + align_up(n, kStrideElements), 0.0f);
  Lanes::store_first(out + n_whole, Lanes::multiply(rest, factor), n - n_whole);
}
