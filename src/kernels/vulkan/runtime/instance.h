// The Vulkan loader and its one instance in this process.
#pragma once

#include <volk.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"

namespace parlance::vulkan {

// A structure of the driver's interface with its tag, and all else zero.
template <class T>
T typed(VkStructureType type) {
  T value{};
  value.sType = type;
  return value;
}

struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  std::string name;  // "vulkan:0"

  bool has_extension(std::string_view extension) const;
};

// Every device of this machine, in the order of their names; made at the first call, from any thread.
const Result<std::vector<PhysicalDevice>>& physical_devices();

// Of the largest heap that is the device's own.
DeviceMemory memory_of(const PhysicalDevice& device);

// "the device is lost (…)", for messages.
std::string meaning_of(VkResult result);

}  // namespace parlance::vulkan
