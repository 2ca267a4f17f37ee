// The convolution of one token's channels; included after vectors.simd.h.

PARLANCE_SIMD PARLANCE_INLINE F silu(F x) {
  return Lanes::divide(x, Lanes::add(Lanes::broadcast(1), Lanes::exp(Lanes::subtract(Lanes::zero(), x))));
}

PARLANCE_SIMD void convolve(const float* taps, const float* const* inputs, int64_t n_tap, int64_t n_channels,
                            float* out) {
  int64_t i = 0;
  for (; i + kWidth <= n_channels; i += kWidth) {
    F sum = Lanes::multiply(Lanes::load(taps + i), Lanes::load(inputs[0] + i));
    for (int64_t tap = 1; tap < n_tap; ++tap) {
      sum =
          Lanes::multiply_add(Lanes::load(taps + tap * kChannelBlock + i), Lanes::load(inputs[tap] + i), sum);
    }
    Lanes::store(out + i, silu(sum));
  }
  const int64_t n = n_channels - i;
  if (n == 0) return;
  F sum = Lanes::zero();
  for (int64_t tap = 0; tap < n_tap; ++tap) {
    const F weight = Lanes::load_first(taps + tap * kChannelBlock + i, n);
    sum = Lanes::multiply_add(weight, Lanes::load_first(inputs[tap] + i, n), sum);
  }
  Lanes::store_first(out + i, silu(sum), n);
}
