// Brings weights to a device: one staging buffer is filled, by several threads, while another is copied.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/thread_pool.h"
#include "kernels/vulkan/runtime/memory.h"

namespace parlance::vulkan {

class Uploader {
 public:
  explicit Uploader(Context& context) : context_(context) {}
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // Returns when `bytes` may go away; the copy is ordered before what is submitted later.
  Result<void> upload(const VulkanBuffer& buffer, std::span<const std::byte> bytes);

 private:
  struct Slot {
    std::unique_ptr<Allocation> staging;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence is_free = VK_NULL_HANDLE;
  };

  void fill(std::byte* to, std::span<const std::byte> bytes);
  VkResult start();
  VkResult send(Slot& slot, const VulkanBuffer& buffer, size_t offset, std::span<const std::byte> piece);

  Context& context_;
  std::mutex mutex_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
  std::optional<ThreadPool> pool_of_threads_;
};

}  // namespace parlance::vulkan
