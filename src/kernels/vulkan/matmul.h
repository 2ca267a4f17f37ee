// How products with a few tokens lie in groups and lanes: what says in which order they are summed up.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/matmul/activations.h"
#include "kernels/vulkan/runtime/dispatch.h"

namespace parlance::vulkan {

inline bool is_float(DType dtype) {
  return traits(dtype).block_elements == 1;
}

// Whether rows of weights and activations lie such that floats may be loaded 16 bytes at a time, 8 values a
// step.
inline bool are_floats_in_quads(const Tensor& weight, const Tensor& x) {
  const auto start = weight.data - weight.buffer->base();
  return is_float(weight.dtype) && weight.ne[0] % 8 == 0 && start % 16 == 0 && byte_offset(x) % 16 == 0;
}

// Lanes that share a row: few for short ones, so that none is without work. Drivers on the CPU take long to
// compile large pieces.
inline uint32_t lanes_of_row(const DeviceLimits& limits, DType dtype, bool whole_quads, uint32_t n_in) {
  const uint32_t n_pieces = is_float(dtype) ? n_in / (whole_quads ? 8 : 1) : n_in / matmul::kRun;
  return n_pieces <= 64 ? std::max(32u, limits.subgroup_size) : 128;
}

}  // namespace parlance::vulkan
