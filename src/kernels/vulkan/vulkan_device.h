// GPUs with a Vulkan 1.1 driver as devices. The loader is looked for when these are called, so that a program with
// this code also starts on machines without one. A build without a shader compiler has kernels/absent/vulkan.cpp
// instead.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

// The devices of this machine named "vulkan:0", "vulkan:1", …: discrete GPUs first, then integrated ones, then
// software; otherwise in the loader's order. An error says why there are none and what to do.
Result<std::vector<DeviceInfo>> list_vulkan_devices();

// Device number `index` of that list. Errors: there is no such device, or it lacks what the kernels need.
Result<std::unique_ptr<Device>> make_vulkan_device(int index);

}  // namespace parlance
