#include "tts/guided_log_probs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/simd/avx2.h"
#include "kernels/cpu/simd/avx512.h"
#include "kernels/cpu/simd/neon.h"

namespace parlance {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// As whole numbers of slots are decided by these, the sum is kept finer than its terms.
float log_sum_exp_scalar(const float* x, int64_t n) {
  const float largest = *std::max_element(x, x + n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(std::exp(x[i] - largest));
  return largest + static_cast<float>(std::log(sum));
}

float guided_log_probs_scalar(const GuidedRow& row, float* log_probs) {
  const float cond_sum = log_sum_exp_scalar(row.cond, row.n_vocab);
  float sum = cond_sum;
  if (row.uncond) {
    const float uncond_sum = log_sum_exp_scalar(row.uncond, row.n_vocab);
    for (int64_t i = 0; i < row.n_vocab; ++i) {
      const float c = row.cond[i] - cond_sum, u = row.uncond[i] - uncond_sum;
      log_probs[i] = c + row.guidance * (c - u);
    }
    sum = log_sum_exp_scalar(log_probs, row.n_vocab);
  } else {
    std::copy_n(row.cond, row.n_vocab, log_probs);
  }
  for (int64_t i = 0; i < row.n_vocab; ++i) log_probs[i] -= sum;
  log_probs[row.mask_id] = -kInfinity;
  if (!std::isfinite(sum)) return std::numeric_limits<float>::quiet_NaN();
  return *std::max_element(log_probs, log_probs + row.n_vocab);
}

#define PARLANCE_SIMD_FILE "tts/guided_log_probs.simd.h"
#include "kernels/cpu/simd/per_set.h"

}  // namespace

GuidedLogProbs* guided_log_probs_of([[maybe_unused]] Isa isa) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return avx2::guided_log_probs;
  if (is_avx512(isa)) return avx512::guided_log_probs;
#elif PARLANCE_NEON
  if (is_neon(isa)) return neon::guided_log_probs;
#endif
  return guided_log_probs_scalar;
}

}  // namespace parlance
