// Launches with more groups than a device allows in one dimension; grid.glsl undoes the folding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "kernels/vulkan/runtime/dispatch.h"

namespace parlance::vulkan {

// Invocations of a group of the element-wise shaders: what every device offers.
inline constexpr int64_t kGroupSize = 128;

// At least `n` groups; a shader returns early in those beyond.
inline Groups folded_groups(int64_t n) {
  constexpr int64_t kMaxX = 65535;  // on every device
  const int64_t x = std::min(n, kMaxX);
  return {.x = static_cast<uint32_t>(x), .y = n == 0 ? 0 : static_cast<uint32_t>(div_up(n, x)), .z = 1};
}

// One invocation of a shader with kGroupSize invocations in a group for each of `n` elements.
inline Groups groups_for(int64_t n) {
  return folded_groups(div_up(n, kGroupSize));
}

}  // namespace parlance::vulkan
