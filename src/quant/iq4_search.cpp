#include "quant/iq4_search.h"

#include <algorithm>
#include <cmath>

#include "quant/block32.h"
#include "quant/iq4_nl.h"

namespace parlance {

int nearest_iq4_code(float x) {
  if (x <= kIq4Values.front()) return 0;
  if (!(x < kIq4Values.back())) return static_cast<int>(kIq4Values.size()) - 1;  // NaN too
  const auto above = std::upper_bound(kIq4Values.begin(), kIq4Values.end(), x,
                                      [](float value, int8_t entry) { return value < entry; });
  const int code = static_cast<int>(above - kIq4Values.begin());
  return x - kIq4Values[code - 1] < kIq4Values[code] - x ? code - 1 : code;
}

float search_iq4_step(const float* x) {
  constexpr int kTrials = 7;
  const float largest = largest_magnitude(x, 32);
  if (std::fabs(largest) < kNegligible) return 0;
  float step = 0;
  float best = 0;
  const auto attempt = [&](float inverse, bool first) {
    float sum_qx = 0;
    float sum_q2 = 0;
    for (int i = 0; i < 32; ++i) {
      const float q = kIq4Values[nearest_iq4_code(inverse * x[i])];
      const float w = x[i] * x[i];
      sum_qx += w * q * x[i];
      sum_q2 += w * q * q;
    }
    if (!first && !(sum_q2 > 0 && sum_qx * sum_qx > best * sum_q2)) return;
    step = sum_qx / sum_q2;
    best = step * sum_qx;
  };
  const float end = kIq4Values.front();
  attempt(1 / (-largest / end), true);
  for (int t = -kTrials; t <= kTrials; ++t) attempt((static_cast<float>(t) + end) / largest, false);
  return step;
}

}  // namespace parlance
