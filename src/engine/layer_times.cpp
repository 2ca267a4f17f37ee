#include "engine/layer_times.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/checked.h"

namespace parlance {

namespace {

// So many layers at least fill a portion: where there is no time for the last one after all, that is the
// share which is lost.
constexpr double kLeastLayers = 3;

// That they are meant to fill, since some layers take a little longer.
constexpr double kFilled = 0.97;

}  // namespace

size_t LayerTimes::size_of(int64_t n) {
  const auto times = static_cast<uint64_t>(std::clamp(n, kLeast, kMost) / kLeast);
  return static_cast<size_t>(std::bit_width(times)) - 1;
}

void LayerTimes::note(int64_t n, int64_t depth, double ms) {
  Size& size = sizes_[size_of(n)];
  if (is_far(depth, size.depth)) size.token_ms = {};
  size.depth = depth;
  size.token_ms.note(ms / static_cast<double>(std::max(n, kLeast)));
}

// More tokens are no dearer: what was measured of fewer, and perhaps since, is a bound. Where nothing was,
// that of more has to do.
double LayerTimes::token_ms(int64_t n, int64_t depth) const {
  double least = 0;
  for (size_t i = 0; i < kSizes && (i <= size_of(n) || least == 0); ++i) {
    if (!sizes_[i].knows(depth)) continue;
    const double ms = sizes_[i].token_ms.high();
    least = least == 0 ? ms : std::min(least, ms);
  }
  return least;
}

double LayerTimes::layer_ms(int64_t n, int64_t depth) const {
  return token_ms(n, depth) * static_cast<double>(std::max(n, kLeast));
}

int64_t LayerTimes::piece_for(double portion_ms, int64_t depth) const {
  const double best_ms = layer_ms(kBest, depth);
  if (best_ms == 0) return kLeast;
  const double n_layers = std::max(kLeastLayers, std::round(portion_ms / best_ms));
  const double layer_ms = kFilled * portion_ms / n_layers;
  auto n = static_cast<int64_t>(std::min(layer_ms * kBest / best_ms, static_cast<double>(kMost)));
  n = static_cast<int64_t>(
      std::min(layer_ms / token_ms(n, depth), static_cast<double>(n)));  // if fewer are dearer
  return std::max(n - n % kLeast, kLeast);
}

}  // namespace parlance
