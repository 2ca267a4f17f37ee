// In place of kernels/vulkan/ where the Vulkan headers or the shader compiler were not found.
#include "base/parameter.h"
#include "kernels/vulkan/vulkan_device.h"

namespace parlance {

namespace {

tl::unexpected<Error> absent() {
  return fail(ErrorCode::unsupported,
              "vulkan: this program was built without Vulkan; install libvulkan-volk-dev, glslc and "
              "spirv-tools and build "
              "it again, or use {}",
              set_to(Parameter::device, "cpu"));
}

}  // namespace

Result<std::vector<DeviceInfo>> list_vulkan_devices() {
  return absent();
}

Result<std::unique_ptr<Device>> make_vulkan_device(int, const DeviceOptions&) {
  return absent();
}

bool is_software_vulkan(std::string_view) {
  return false;
}

VulkanCounters vulkan_counters() {
  return {};
}

}  // namespace parlance
