// The device that tests of engine, ears and mouth compute on.
#pragma once

#include <cstdlib>
#include <memory>

#include "devices/devices.h"
#include "kernels/cpu/cpu_device.h"
#include "kv/policy.h"

namespace parlance::test {

// The one that PARLANCE_TEST_DEVICE names ("cuda:0", as --device takes it), else the CPU.
inline Result<std::unique_ptr<Device>> make_tested_device(const CpuOptions& options = {.n_threads = 2}) {
  const char* const name = std::getenv("PARLANCE_TEST_DEVICE");
  return name ? make_device(name, options.n_threads, {.is_deterministic = options.deterministic})
              : make_cpu_device(options);
}

// Whether it computes with a cache's formats: GPUs do not know all.
inline bool knows(const Device& device, const KvPolicy& cache) {
  const auto k = static_cast<size_t>(cache.k.format), v = static_cast<size_t>(cache.v.format);
  return device.ops().attention[k][v].run && device.ops().norm_rope_write[k][v].run;
}

}  // namespace parlance::test
