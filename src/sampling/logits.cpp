#include "sampling/logits.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace parlance {

namespace {

constexpr size_t kLookLanes = 32;

// Whether something is true of any.
template <class Predicate>
bool is_true_of_any(std::span<const float> logits, Predicate is) {
  std::array<uint32_t, kLookLanes> found{};
  size_t i = 0;
  for (; i + kLookLanes <= logits.size(); i += kLookLanes) {
    for (size_t lane = 0; lane < kLookLanes; ++lane)
      found[lane] |= static_cast<uint32_t>(is(logits[i + lane]));
  }
  for (; i < logits.size(); ++i) found[0] |= static_cast<uint32_t>(is(logits[i]));
  uint32_t any = 0;
  for (const uint32_t of_lane : found) any |= of_lane;
  return any != 0;
}

}  // namespace

bool all_finite(std::span<const float> logits) {
  constexpr uint32_t kExponent = 0x7f800000;
  return !is_true_of_any(
      logits, [](float logit) { return (std::bit_cast<uint32_t>(logit) & kExponent) == kExponent; });
}

bool any_above(std::span<const float> logits, float threshold) {
  return is_true_of_any(logits, [threshold](float logit) { return logit > threshold; });
}

}  // namespace parlance
