#include "engine/layer_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace parlance {
namespace {

constexpr int kLayersRead = 28;

// A layer of n tokens behind `depth` others: weights are read once, each token is computed and looks at those
// before it.
struct LayerCost {
  double weights_ms, token_ms, look_ms;
  // Beside seven answers.
  double portion_ms() const { return 0.85 * kLayersRead * ms(7, 500); }
  double ms(int64_t n, int64_t depth) const {
    return weights_ms + static_cast<double>(n) * (token_ms + look_ms * static_cast<double>(depth));
  }
};

const LayerCost kLayerCosts[] = {
    {.weights_ms = 0.6, .token_ms = 0.05, .look_ms = 1.5e-5},  // a small model on two cores
    {.weights_ms = 6, .token_ms = 0.5, .look_ms = 5e-5},       // a large one
    {.weights_ms = 0.1, .token_ms = 0.001, .look_ms = 1e-7},   // on a large machine
};

// Prompts, each from a depth to another, computed in portions as a scheduler does; `noise` is what a layer
// takes longer.
struct ReadingTime {
  double longest_ms = 0;  // of a portion
  double ms = 0;          // in all
  int64_t n_portions = 0;
};
template <class Noise>
ReadingTime read_prompts(const LayerCost& cost, LayerTimes& times,
                         std::span<const std::pair<int64_t, int64_t>> prompts, const Noise& noise) {
  ReadingTime outcome;
  for (const auto& [begin, end] : prompts) {
    double portion = 0;
    for (int64_t depth = begin; depth < end;) {
      const int64_t n = std::min(times.piece_for(cost.portion_ms(), depth), end - depth);
      EXPECT_GE(n, 1);
      for (int layer = 0; layer < kLayersRead; ++layer) {
        const double expected = times.layer_ms(n, depth);
        if (portion > 0 && (expected == 0 || portion + expected > cost.portion_ms())) {
          ++outcome.n_portions;
          portion = 0;
        }
        const double ms = cost.ms(n, depth) * noise();
        times.note(n, depth, ms);
        portion += ms;
        outcome.ms += ms;
        outcome.longest_ms = std::max(outcome.longest_ms, portion);
      }
      depth += n;
    }
    ++outcome.n_portions;
  }
  return outcome;
}

// From the start, behind beginnings that were known, short and long; the longest portion is what was allowed,
// or the one layer that is computed anyway.
TEST(LayerTimes, PortionsAreFilledAndNotExceeded) {
  for (const LayerCost& cost : kLayerCosts) {
    LayerTimes times;
    const std::vector<std::pair<int64_t, int64_t>> prompts = {
        {0, 4096}, {30000, 31000}, {0, 50}, {100, 117}, {200, 4000}};
    const ReadingTime outcome = read_prompts(cost, times, prompts, [] { return 1.0; });
    EXPECT_LE(outcome.longest_ms, std::max(1.05 * cost.portion_ms(), cost.ms(LayerTimes::kLeast, 31000)));
    double best_ms = 0;  // with pieces of the best size
    for (const auto& [begin, end] : prompts) {
      for (int64_t depth = begin; depth < end; depth += LayerTimes::kBest)
        best_ms += kLayersRead * cost.ms(std::min(LayerTimes::kBest, end - depth), depth);
    }
    EXPECT_LE(outcome.ms, 1.3 * best_ms) << "larger pieces take less time";
    const auto n_least = static_cast<int64_t>(outcome.ms / cost.portion_ms());
    EXPECT_LE(outcome.n_portions, 10 + n_least * 5 / 4) << "what is left of portions";
  }
}

TEST(LayerTimes, NothingIsKnownAtFirstAndFarAway) {
  LayerTimes times;
  EXPECT_EQ(times.piece_for(40, 0), LayerTimes::kLeast);
  EXPECT_EQ(times.layer_ms(64, 0), 0);
  times.note(64, 1000, 3.2);
  EXPECT_DOUBLE_EQ(times.layer_ms(64, 1000), 3.2);
  EXPECT_DOUBLE_EQ(times.layer_ms(128, 0), 6.4) << "at most";
  EXPECT_EQ(times.layer_ms(64, 2000), 0);
  EXPECT_EQ(times.piece_for(40, 2000), LayerTimes::kLeast);
  EXPECT_EQ(times.piece_for(1, 1000), LayerTimes::kLeast);
}

// Where a few measurements were much too long, larger pieces are tried again.
TEST(LayerTimes, NoiseDoesNotStarveAPrompt) {
  const LayerCost& cost = kLayerCosts[0];
  LayerTimes times;
  for (int i = 0; i < 5; ++i) times.note(LayerTimes::kBest, 0, 500);
  std::mt19937 random(5);
  std::lognormal_distribution<double> some(0, 0.1);
  const std::pair<int64_t, int64_t> prompt{0, 8000};
  const ReadingTime noisy =
      read_prompts(cost, times, {&prompt, 1}, [&] { return some(random) * (random() % 97 == 0 ? 5 : 1); });
  LayerTimes calm_times;
  const ReadingTime calm = read_prompts(cost, calm_times, {&prompt, 1}, [] { return 1.0; });
  EXPECT_LE(static_cast<double>(noisy.n_portions), 1.5 * static_cast<double>(calm.n_portions));
}

}  // namespace
}  // namespace parlance
