// gelu for an instruction set: `Lanes` and PARLANCE_SIMD are its own.
//
// With z = |x| / sqrt(2), erfc(z) = t P(t - kGeluMiddle) exp(-z^2) where t = 1 / (1 + kGeluStep z). P
// interpolates erfc(z) exp(z^2) / t in nine Chebyshev points for z in [0, 6.6]: relative error 4.6e-8.
// Beyond, exp(-z^2) is zero in f32 beside anything that it is added to. Then gelu(x) = x erfc(z) / 2 for
// negative x, without cancellation, and x - x erfc(z) / 2 for the others.

PARLANCE_SIMD PARLANCE_INLINE Lanes::F gelu_of(Lanes::F x) {
  using L = Lanes;
  const L::F size = L::maximum(x, L::subtract(L::zero(), x));
  const L::F z = L::multiply(size, L::broadcast(0.70710678f));
  const L::F t = L::divide(L::broadcast(1), L::multiply_add(z, L::broadcast(kGeluStep), L::broadcast(1)));
  const L::F u = L::subtract(t, L::broadcast(kGeluMiddle));
  L::F p = L::broadcast(kGeluTerms[8]);
  for (int i = 7; i >= 0; --i) p = L::multiply_add(p, u, L::broadcast(kGeluTerms[i]));
  const L::F fall = L::exp(L::subtract(L::zero(), L::multiply(z, z)));
  const L::F half_tail = L::multiply(L::broadcast(0.5f), L::multiply(L::multiply(t, p), fall));
  // x (1 - tail / 2) or x tail / 2: the larger of both has the sign of x.
  return L::subtract(L::maximum(x, L::zero()), L::multiply(size, half_tail));
}

PARLANCE_SIMD void gelu_range(float* x, int64_t n) {
  int64_t i = 0;
  for (; i + Lanes::kWidth <= n; i += Lanes::kWidth) Lanes::store(x + i, gelu_of(Lanes::load(x + i)));
  if (i < n) Lanes::store_first(x + i, gelu_of(Lanes::load_first(x + i, n - i)), n - i);
}
