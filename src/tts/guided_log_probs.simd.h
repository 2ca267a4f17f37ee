// Log-probabilities of a row for an instruction set: `Lanes` and PARLANCE_SIMD are its own.

PARLANCE_SIMD PARLANCE_INLINE float largest_of(const float* x, int64_t n) {
  using L = Lanes;
  float largest = x[0];
  int64_t i = 0;
  if (n >= L::kWidth) {
    L::F lanes = L::load(x);
    for (i = L::kWidth; i + L::kWidth <= n; i += L::kWidth) lanes = L::maximum(lanes, L::load(x + i));
    largest = L::largest(lanes);
  }
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

// log of the sum of exp(x). NaN among x is kept by exp, though not by the maximum.
PARLANCE_SIMD PARLANCE_INLINE float log_sum_exp(const float* x, int64_t n) {
  using L = Lanes;
  const float largest = largest_of(x, n);
  const L::F top = L::broadcast(largest);
  L::F sums = L::zero();
  int64_t i = 0;
  for (; i + L::kWidth <= n; i += L::kWidth) sums = L::add(sums, L::exp(L::subtract(L::load(x + i), top)));
  float sum = L::sum(sums);
  if (i < n) {
    float rest[L::kWidth];
    L::store(rest, L::exp(L::subtract(L::load_first(x + i, n - i), top)));
    for (int64_t lane = 0; lane < n - i; ++lane) sum += rest[lane];
  }
  return largest + std::log(sum);
}

// c + guidance * (c - u) of the log-probabilities c and u.
PARLANCE_SIMD PARLANCE_INLINE void mix(const GuidedRow& row, float* out) {
  using L = Lanes;
  const float cond_sum = log_sum_exp(row.cond, row.n_vocab),
              uncond_sum = log_sum_exp(row.uncond, row.n_vocab);
  const L::F c_sum = L::broadcast(cond_sum), u_sum = L::broadcast(uncond_sum);
  const L::F guidance = L::broadcast(row.guidance);
  int64_t i = 0;
  for (; i + L::kWidth <= row.n_vocab; i += L::kWidth) {
    const L::F c = L::subtract(L::load(row.cond + i), c_sum);
    const L::F u = L::subtract(L::load(row.uncond + i), u_sum);
    L::store(out + i, L::add(c, L::multiply(guidance, L::subtract(c, u))));
  }
  for (; i < row.n_vocab; ++i) {
    const float c = row.cond[i] - cond_sum, u = row.uncond[i] - uncond_sum;
    out[i] = c + row.guidance * (c - u);
  }
}

PARLANCE_SIMD float guided_log_probs(const GuidedRow& row, float* log_probs) {
  using L = Lanes;
  const float* x = row.cond;
  if (row.uncond) {
    mix(row, log_probs);
    x = log_probs;
  }
  const float sum = log_sum_exp(x, row.n_vocab);
  const L::F sums = L::broadcast(sum);
  int64_t i = 0;
  for (; i + L::kWidth <= row.n_vocab; i += L::kWidth)
    L::store(log_probs + i, L::subtract(L::load(x + i), sums));
  for (; i < row.n_vocab; ++i) log_probs[i] = x[i] - sum;
  log_probs[row.mask_id] = -kInfinity;
  return std::isfinite(sum) ? largest_of(log_probs, row.n_vocab) : std::numeric_limits<float>::quiet_NaN();
}
