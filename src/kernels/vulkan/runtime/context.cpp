#include "kernels/vulkan/runtime/context.h"

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/parameter.h"

namespace parlance::vulkan {

namespace {

std::atomic<uint64_t> n_submitted{0};

// Optional features, as the driver answers and as the device is opened with.
struct Features {
  VkPhysicalDeviceFeatures2 head =
      typed<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  VkPhysicalDevice16BitStorageFeatures storage_16 =
      typed<VkPhysicalDevice16BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  VkPhysicalDevice8BitStorageFeaturesKHR storage_8 = typed<VkPhysicalDevice8BitStorageFeaturesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES_KHR);
  VkPhysicalDeviceShaderFloat16Int8FeaturesKHR arithmetic =
      typed<VkPhysicalDeviceShaderFloat16Int8FeaturesKHR>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES_KHR);
  VkPhysicalDeviceShaderIntegerDotProductFeaturesKHR dot_product =
      typed<VkPhysicalDeviceShaderIntegerDotProductFeaturesKHR>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES_KHR);
  std::vector<const char*> extensions;

  explicit Features(const PhysicalDevice& physical) {
    void** last = &head.pNext;
    const auto chain = [&](auto& feature) {
      *last = &feature;
      last = &feature.pNext;
    };
    const auto chain_extension = [&](const char* extension, auto& feature) {
      if (!physical.has_extension(extension)) return;
      extensions.push_back(extension);
      chain(feature);
    };
    chain(storage_16);
    chain_extension(VK_KHR_8BIT_STORAGE_EXTENSION_NAME, storage_8);
    chain_extension(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, arithmetic);
    chain_extension(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, dot_product);
    vkGetPhysicalDeviceFeatures2(physical.handle, &head);
    head.features = {};  // none of the older ones is used
  }
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;
};

bool is_set_to_zero(const char* variable) {
  const char* value = std::getenv(variable);
  return value && value == std::string_view("0");
}

// Whether the device is a driver on the CPU, and is not to be taken for a GPU.
bool is_software(const PhysicalDevice& physical) {
  return physical.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
         !is_set_to_zero("PARLANCE_VULKAN_SOFTWARE");
}

// Whether the driver says that products of packed bytes are faster than what a shader could write itself.
bool has_fast_dot_product(const PhysicalDevice& physical, const Features& features) {
  if (!features.dot_product.shaderIntegerDotProduct) return false;
  if (physical.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) return !is_software(physical);
  auto dot_product = typed<VkPhysicalDeviceShaderIntegerDotProductPropertiesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES_KHR);
  auto properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  properties.pNext = &dot_product;
  vkGetPhysicalDeviceProperties2(physical.handle, &properties);
  return dot_product.integerDotProduct4x8BitPackedSignedAccelerated;
}

// Fills limits and max_allocation.
void probe(Context& context, const Features& features) {
  const PhysicalDevice& physical = context.physical;
  auto maintenance = typed<VkPhysicalDeviceMaintenance3Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  auto subgroup =
      typed<VkPhysicalDeviceSubgroupProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  subgroup.pNext = &maintenance;
  auto properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  properties.pNext = &subgroup;
  vkGetPhysicalDeviceProperties2(physical.handle, &properties);
  // Reductions in shared memory do what smaller subgroups would.
  constexpr uint32_t kLeastSubgroup = 4;
  const bool has_subgroups = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
                             (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) &&
                             subgroup.subgroupSize >= kLeastSubgroup &&
                             !is_set_to_zero("PARLANCE_VULKAN_SUBGROUPS");
  const VkPhysicalDeviceLimits& limits = properties.properties.limits;
  context.max_allocation = maintenance.maxMemoryAllocationSize;
  context.limits = {
      .subgroup_size = subgroup.subgroupSize,
      .has_subgroup_arithmetic = has_subgroups,
      .max_groups = {limits.maxComputeWorkGroupCount[0], limits.maxComputeWorkGroupCount[1],
                     limits.maxComputeWorkGroupCount[2]},
      .max_group_invocations = limits.maxComputeWorkGroupInvocations,
      .max_storage_range = limits.maxStorageBufferRange,
      .shared_bytes = limits.maxComputeSharedMemorySize,
      .has_16_bit_storage = features.storage_16.storageBuffer16BitAccess == VK_TRUE,
      .has_8_bit_storage = features.storage_8.storageBuffer8BitAccess == VK_TRUE,
      .has_float16 = features.arithmetic.shaderFloat16 == VK_TRUE,
      .has_int8 = features.arithmetic.shaderInt8 == VK_TRUE,
      .has_integer_dot_product = has_fast_dot_product(physical, features),
      .is_software = is_software(physical),
  };
}

Result<uint32_t> compute_queue_family(const PhysicalDevice& physical) {
  uint32_t n = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical.handle, &n, nullptr);
  std::vector<VkQueueFamilyProperties> families(n);
  vkGetPhysicalDeviceQueueFamilyProperties(physical.handle, &n, families.data());
  for (uint32_t i = 0; i < n; ++i) {
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) return i;
  }
  return fail(ErrorCode::unsupported, "{} ({}): has no queue for compute shaders; use another {}",
              physical.name, physical.properties.deviceName, Parameter::device);
}

}  // namespace

Result<std::unique_ptr<Context>> open_context(int index) {
  const auto& devices = physical_devices();
  if (!devices) return tl::unexpected(devices.error());
  if (index < 0 || static_cast<size_t>(index) >= devices->size()) {
    std::string names;
    for (const PhysicalDevice& device : *devices) {
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", device.name, device.properties.deviceName);
    }
    return fail(ErrorCode::not_found, "vulkan:{}: there is no such device; this machine has {}", index,
                names);
  }
  const PhysicalDevice& physical = (*devices)[static_cast<size_t>(index)];
  auto context = std::make_unique<Context>(physical);
  const Features features(physical);
  probe(*context, features);
  PARLANCE_TRY(context->queue_family, compute_queue_family(physical));
  vkGetPhysicalDeviceMemoryProperties(physical.handle, &context->memory_types);

  const float priority = 1;
  auto queue = typed<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = context->queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto info = typed<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &features.head;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(features.extensions.size());
  info.ppEnabledExtensionNames = features.extensions.data();
  if (const VkResult result = vkCreateDevice(physical.handle, &info, nullptr, &context->device);
      result != VK_SUCCESS) {
    context->device = VK_NULL_HANDLE;
    return fail(ErrorCode::unsupported, "{} ({}): cannot be opened, {}; update the driver or use {}",
                physical.name, physical.properties.deviceName, meaning_of(result),
                set_to(Parameter::device, "cpu"));
  }
  volkLoadDeviceTable(&context->vk, context->device);
  context->vk.vkGetDeviceQueue(context->device, context->queue_family, 0, &context->queue);
  return context;
}

Context::~Context() {
  if (device != VK_NULL_HANDLE) vk.vkDestroyDevice(device, nullptr);
}

VkResult Context::submit(std::span<const VkCommandBuffer> commands, VkFence fence) {
  auto info = typed<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  const std::lock_guard lock(queue_mutex);
  ++n_submitted;
  return vk.vkQueueSubmit(queue, 1, &info, fence);
}

void Context::wait_idle() {
  const std::lock_guard lock(queue_mutex);
  vk.vkQueueWaitIdle(queue);
}

uint64_t Context::n_submissions() {
  return n_submitted;
}

}  // namespace parlance::vulkan
