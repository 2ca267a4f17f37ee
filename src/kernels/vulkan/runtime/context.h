// An opened device: its functions, its queue and what was asked of its driver. Everything of the runtime
// points here.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "kernels/vulkan/runtime/dispatch.h"
#include "kernels/vulkan/runtime/instance.h"

namespace parlance::vulkan {

struct Context {
  explicit Context(const PhysicalDevice& physical) : physical(physical) {}
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The only ways to the queue, from any thread.
  VkResult submit(std::span<const VkCommandBuffer> commands, VkFence fence);
  void wait_idle();

  // By all devices of this process.
  static uint64_t n_submissions();

  const PhysicalDevice& physical;
  VkDevice device = VK_NULL_HANDLE;
  VolkDeviceTable vk{};
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  std::mutex queue_mutex;
  DeviceLimits limits;
  VkPhysicalDeviceMemoryProperties memory_types{};
  size_t max_allocation = 0;  // bytes
};

// Errors: there is no such device, it lacks what the kernels need, or its driver does not start.
Result<std::unique_ptr<Context>> open_context(int index);

}  // namespace parlance::vulkan
