// The devices of this machine by the names that --device takes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

// A kind of device: what it has, or why it has nothing.
struct Backend {
  std::string_view name;  // "cpu", "vulkan", "cuda"
  Result<std::vector<DeviceInfo>> devices;
};

// Every backend, asked now.
std::vector<Backend> list_backends();

// "cpu", "vulkan", "vulkan:1", "cuda:0"; without a number the first of its kind. n_threads is for the CPU.
// Errors name what there is instead.
Result<std::unique_ptr<Device>> make_device(std::string_view name, int n_threads,
                                            const DeviceOptions& options = {});

}  // namespace parlance
