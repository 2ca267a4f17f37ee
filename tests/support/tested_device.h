// The device that the engine's tests compute on.
#pragma once

#include <cstdlib>
#include <memory>

#include "devices/devices.h"
#include "kernels/cpu/cpu_device.h"

namespace parlance::test {

// The one that PARLANCE_TEST_DEVICE names ("cuda:0", as --device takes it), else the CPU.
inline Result<std::unique_ptr<Device>> make_tested_device(const CpuOptions& options = {.n_threads = 2}) {
  const char* const name = std::getenv("PARLANCE_TEST_DEVICE");
  return name ? make_device(name, options.n_threads, {.is_deterministic = options.deterministic})
              : make_cpu_device(options);
}

}  // namespace parlance::test
