// Workgroups of a Metal kernel on the CPU. Their threads are fibers: one runs until it comes to a barrier or
// to an operation of its simdgroup, then another, in random order; memory of the workgroup begins as numbers
// that are none. So a missing barrier shows as a wrong result, and rules that kernels must keep are checked.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "shaders/support/kernel_text.h"

namespace parlance::test {

struct MetalLimits {
  uint32_t simd_width = 32;                     // Apple's GPUs have 32
  size_t threadgroup_bytes = size_t{32} << 10;  // of one workgroup
  bool orders_groups = false;  // see DeviceLimits: more than Metal promises, but so it is here
};

// Runs all workgroups, one after the other. Throws std::runtime_error when the kernel breaks a rule: threads
// of a simdgroup at different operations, a barrier that not all come to, memory beyond a buffer's end.
void run_workgroups(const MetalKernel& kernel, std::span<const metal_shim::Binding> bindings,
                    const uint32_t (&n_groups)[3], const MetalLimits& limits, std::mt19937& random);

}  // namespace parlance::test
