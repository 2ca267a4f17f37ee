// GPUs with a Vulkan 1.1 driver as devices. The loader is looked for when these are called, so that a program
// with this code also starts on machines without one. A build without a shader compiler has
// kernels/absent/vulkan.cpp instead.
//
// With PARLANCE_VULKAN_VALIDATION=1 in the environment the Khronos validation layer checks every call; its
// messages are logged and counted. With PARLANCE_VULKAN_SUBGROUPS=0 devices are taken as if they had no
// subgroup arithmetic, with PARLANCE_VULKAN_SOFTWARE=0 drivers on the CPU as if they were GPUs: with larger groups,
// and products of four bytes at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

// The devices of this machine named "vulkan:0", "vulkan:1", …: discrete GPUs first, then integrated ones,
// then virtual ones, then software; otherwise in the loader's order. An error says why there are none and
// what to do.
Result<std::vector<DeviceInfo>> list_vulkan_devices();

// Whether a device of that list is a driver which computes on the CPU: for tests, and for those who name it.
bool is_software_vulkan(std::string_view name);

// Device number `index` of that list. Errors: there is no such device, or it lacks what the kernels need.
Result<std::unique_ptr<Device>> make_vulkan_device(int index, const DeviceOptions& options = {});

// What the Vulkan devices of this process have done so far; tests compare it before and after.
struct VulkanCounters {
  uint64_t submissions = 0;          // to queues; each costs tens of microseconds
  uint64_t validation_messages = 0;  // of the validation layer
};
VulkanCounters vulkan_counters();

}  // namespace parlance
