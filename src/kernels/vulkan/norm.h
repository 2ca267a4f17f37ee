// The root mean square norm of norm.glsl, as those launch it who have it in their shaders.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/vulkan/runtime/dispatch.h"

namespace parlance::vulkan {

// Lanes of a group that normalises a row: for rows of a few thousand elements; the sum over more of them
// would take longer than their work.
inline uint32_t norm_lanes(const DeviceLimits& limits) {
  return std::min(256u, limits.max_group_invocations);
}

}  // namespace parlance::vulkan
