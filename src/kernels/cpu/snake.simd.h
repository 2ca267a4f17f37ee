// snake for an instruction set: `Lanes` and PARLANCE_SIMD are its own.
//
// sin(y)^2 has the period pi: y is brought to r within pi / 2 of zero, pi being the sum of three floats of
// which the first two leave room for the product, and sin(r) = r P(r^2), where P interpolates in five
// Chebyshev points: off by 7e-9.

PARLANCE_SIMD PARLANCE_INLINE Lanes::F snake_of(Lanes::F x, Lanes::F alpha) {
  using L = Lanes;
  const L::F y = L::multiply(alpha, x);
  // Rounded to a whole number by a sum whose last place is 1.
  const L::F big = L::broadcast(0x1.8p+23f);
  const L::F n = L::subtract(L::add(L::multiply(y, L::broadcast(0.31830989f)), big), big);
  L::F r = L::multiply_add(n, L::broadcast(-kPiHigh), y);
  r = L::multiply_add(n, L::broadcast(-kPiMiddle), r);
  r = L::multiply_add(n, L::broadcast(-kPiLow), r);
  const L::F square = L::multiply(r, r);
  L::F p = L::broadcast(kSineTerms[4]);
  for (int i = 3; i >= 0; --i) p = L::multiply_add(p, square, L::broadcast(kSineTerms[i]));
  const L::F sine = L::multiply(r, p);
  return L::add(x, L::divide(L::multiply(sine, sine), L::add(alpha, L::broadcast(kSnakeFloor))));
}

PARLANCE_SIMD void snake_row(float* x, const float* alpha, int64_t n) {
  int64_t i = 0;
  for (; i + Lanes::kWidth <= n; i += Lanes::kWidth)
    Lanes::store(x + i, snake_of(Lanes::load(x + i), Lanes::load(alpha + i)));
  if (i < n) {
    const auto rest = snake_of(Lanes::load_first(x + i, n - i), Lanes::load_first(alpha + i, n - i));
    Lanes::store_first(x + i, rest, n - i);
  }
}
