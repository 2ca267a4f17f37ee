// draw_tokens on the CPU: the definition.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"

namespace parlance {

namespace {

// Of the tokens that are told and their logits, highest first, the place of the one that is drawn.
int64_t drawn_of(const int32_t* logits, int64_t n, float temperature, float top_p, float min_p,
                 float random) {
  std::array<float, kMostTopLogits> weights;
  const auto below_highest = [&](int64_t i) {
    return std::bit_cast<float>(logits[i]) - std::bit_cast<float>(logits[0]);
  };
  float total = 0;
  for (int64_t i = 0; i < n; ++i) total += weights[static_cast<size_t>(i)] = std::exp(below_highest(i));
  int64_t n_left = 0;
  for (float sum = 0; n_left < n; ++n_left) {
    const float weight = weights[static_cast<size_t>(n_left)];
    if (n_left > 0 && (weight < min_p || (top_p < 1 && sum >= top_p * total))) break;
    sum += weight;
  }
  total = 0;
  for (int64_t i = 0; i < n_left; ++i)
    total += weights[static_cast<size_t>(i)] = std::exp(below_highest(i) / temperature);
  float sum = 0;
  for (int64_t i = 0; i < n_left; ++i) {
    sum += weights[static_cast<size_t>(i)];
    if (sum > random * total) return i;
  }
  return n_left - 1;
}

void run_draw_tokens(Stream&, const DrawTokensArgs& args) {
  const int64_t n_told = args.told.ne[0], stride = args.draws.ne[0];
  const auto* draws = args.draws.as<const int32_t>();
  auto* tokens = args.tokens.as<int32_t>();
  for (int64_t row = 0; row < args.told.n_rows(); ++row) {
    const int32_t* const told = args.told.as<const int32_t>() + row * n_told;
    if (n_told == 1 || told[0] < 0) {
      tokens[row] = std::max(told[0], 0);
      continue;
    }
    const auto value = [&](int64_t word) { return std::bit_cast<float>(draws[word * stride + row]); };
    const int32_t top_k = draws[4 * stride + row];
    const int64_t k = n_told / 2 - 1, n = top_k > 0 ? std::min<int64_t>(top_k, k) : k;
    const int64_t drawn =
        value(0) > 0 ? drawn_of(told + 2 + k, n, value(0), value(1), value(2), value(3)) : 0;
    tokens[row] = told[2 + drawn];
  }
}

}  // namespace

void fill_draw_tokens(OpTable& table) {
  table.draw_tokens = {run_draw_tokens};
}

}  // namespace parlance
