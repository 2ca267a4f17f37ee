#define VOLK_IMPLEMENTATION
#include "kernels/vulkan/runtime/instance.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/log.h"
#include "base/os/environment.h"
#include "base/parameter.h"
#include "kernels/vulkan/runtime/context.h"
#include "kernels/vulkan/vulkan_device.h"

namespace parlance::vulkan {

namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

std::atomic<uint64_t> n_validation_messages{0};

VKAPI_ATTR VkBool32 VKAPI_CALL on_validation_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                                     VkDebugUtilsMessageTypeFlagsEXT,
                                                     const VkDebugUtilsMessengerCallbackDataEXT* data,
                                                     void*) {
  ++n_validation_messages;
  log_warning("vulkan: {}", data->pMessage);
  return VK_FALSE;
}

bool is_validation_wanted() {
  if (environment("PARLANCE_VULKAN_VALIDATION") != "1") return false;
  uint32_t n = 0;
  vkEnumerateInstanceLayerProperties(&n, nullptr);
  std::vector<VkLayerProperties> layers(n);
  vkEnumerateInstanceLayerProperties(&n, layers.data());
  const bool is_installed = std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
    return std::strcmp(layer.layerName, kValidationLayer) == 0;
  });
  if (!is_installed) {
    log_warning(
        "vulkan: PARLANCE_VULKAN_VALIDATION is set but {} is not installed; install vulkan-validationlayers",
        kValidationLayer);
  }
  return is_installed;
}

Result<VkInstance> make_instance() {
  if (volkInitialize() != VK_SUCCESS) {
    return fail(
        ErrorCode::not_found,
        "vulkan: the loader libvulkan.so.1 was not found; install libvulkan1 and the driver of the GPU "
        "(mesa-vulkan-drivers, or NVIDIA's), or use {}",
        set_to(Parameter::device, "cpu"));
  }
  if (volkGetInstanceVersion() < VK_API_VERSION_1_1) {
    return fail(ErrorCode::unsupported,
                "vulkan: the loader knows Vulkan 1.0 only, 1.1 is needed; update libvulkan1");
  }
  auto application = typed<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pApplicationName = "parlance";
  application.apiVersion = VK_API_VERSION_1_1;
  auto messenger =
      typed<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = on_validation_message;
  const char* debug_utils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const bool is_validated = is_validation_wanted();
  auto info = typed<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  if (is_validated) {
    info.pNext = &messenger;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &debug_utils;
  }
  VkInstance instance = VK_NULL_HANDLE;
  if (const VkResult result = vkCreateInstance(&info, nullptr, &instance); result != VK_SUCCESS) {
    return fail(
        ErrorCode::unsupported,
        "vulkan: no driver could be loaded ({}); install the driver of the GPU (mesa-vulkan-drivers, or "
        "NVIDIA's), or use {}",
        meaning_of(result), set_to(Parameter::device, "cpu"));
  }
  volkLoadInstanceOnly(instance);
  if (is_validated) {
    VkDebugUtilsMessengerEXT unused;
    vkCreateDebugUtilsMessengerEXT(instance, &messenger, nullptr, &unused);
  }
  return instance;
}

// Place of a kind of device in the list.
constexpr int kRankCount = 4;
int rank_of(const PhysicalDevice& device) {
  switch (device.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 3;
    default:
      return 2;
  }
}

Result<std::vector<PhysicalDevice>> find_devices() {
  PARLANCE_TRY(const VkInstance instance, make_instance());
  uint32_t n = 0;
  vkEnumeratePhysicalDevices(instance, &n, nullptr);
  std::vector<VkPhysicalDevice> handles(n);
  vkEnumeratePhysicalDevices(instance, &n, handles.data());
  std::vector<PhysicalDevice> devices;
  for (int rank = 0; rank < kRankCount; ++rank) {
    for (const VkPhysicalDevice handle : handles) {
      PhysicalDevice device{handle, {}, fmt::format("vulkan:{}", devices.size())};
      vkGetPhysicalDeviceProperties(handle, &device.properties);
      if (device.properties.apiVersion < VK_API_VERSION_1_1 || rank_of(device) != rank) continue;
      devices.push_back(std::move(device));
    }
  }
  if (devices.empty()) {
    return fail(
        ErrorCode::not_found,
        "vulkan: no device with Vulkan 1.1 ({} without); install the driver of the GPU (mesa-vulkan-drivers, "
        "or NVIDIA's), or use {}",
        handles.size(), set_to(Parameter::device, "cpu"));
  }
  return devices;
}

}  // namespace

bool PhysicalDevice::has_extension(std::string_view extension) const {
  uint32_t n = 0;
  vkEnumerateDeviceExtensionProperties(handle, nullptr, &n, nullptr);
  std::vector<VkExtensionProperties> extensions(n);
  vkEnumerateDeviceExtensionProperties(handle, nullptr, &n, extensions.data());
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const VkExtensionProperties& e) { return extension == e.extensionName; });
}

// The instance lives as long as the process: drivers are unloaded badly while static objects are destroyed.
const Result<std::vector<PhysicalDevice>>& physical_devices() {
  static const Result<std::vector<PhysicalDevice>> devices = find_devices();
  return devices;
}

DeviceMemory memory_of(const PhysicalDevice& device) {
  const bool has_budget = device.has_extension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  auto budget = typed<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  auto memory =
      typed<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  if (has_budget) memory.pNext = &budget;
  vkGetPhysicalDeviceMemoryProperties2(device.handle, &memory);
  DeviceMemory result;
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[i];
    if (!(heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) || heap.size <= result.total) continue;
    result.total = heap.size;
    result.free =
        has_budget ? budget.heapBudget[i] - std::min(budget.heapBudget[i], budget.heapUsage[i]) : heap.size;
  }
  return result;
}

std::string meaning_of(VkResult result) {
  switch (result) {
    case VK_ERROR_DEVICE_LOST:
      return "the device is lost: its driver reset it, or a kernel ran too long";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "the device's memory is exhausted";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "the driver found no memory on the host";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "the driver could not start";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "no compatible driver";
    default:
      return fmt::format("the driver reports VkResult {}", static_cast<int>(result));
  }
}

}  // namespace parlance::vulkan

namespace parlance {

Result<std::vector<DeviceInfo>> list_vulkan_devices() {
  const auto& devices = vulkan::physical_devices();
  if (!devices) return tl::unexpected(devices.error());
  std::vector<DeviceInfo> list;
  for (const vulkan::PhysicalDevice& device : *devices) {
    list.push_back({device.name, device.properties.deviceName, memory_of(device)});
  }
  return list;
}

bool is_software_vulkan(std::string_view name) {
  const auto& devices = vulkan::physical_devices();
  return devices && std::ranges::any_of(*devices, [&](const vulkan::PhysicalDevice& device) {
           return device.name == name && device.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
         });
}

VulkanCounters vulkan_counters() {
  return {.submissions = vulkan::Context::n_submissions(),
          .validation_messages = vulkan::n_validation_messages};
}

}  // namespace parlance
