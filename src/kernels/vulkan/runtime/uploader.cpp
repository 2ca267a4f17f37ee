#include "kernels/vulkan/runtime/uploader.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/os/thread.h"
#include "base/parameter.h"

namespace parlance::vulkan {

namespace {

constexpr size_t kSlotBytes = size_t{16} << 20;
constexpr size_t kPieceBytes = size_t{1} << 20;  // that one thread copies at a time
// The file's pages are what limits the speed: one thread copies and faults them in at a few GB/s.
constexpr size_t kMaxThreads = 8;

}  // namespace

Uploader::~Uploader() {
  context_.wait_idle();
  for (Slot& slot : slots_) context_.vk.vkDestroyFence(context_.device, slot.is_free, nullptr);
  context_.vk.vkDestroyCommandPool(context_.device, pool_, nullptr);
}

void Uploader::fill(std::byte* to, std::span<const std::byte> bytes) {
  if (!pool_of_threads_)
    pool_of_threads_.emplace(static_cast<int>(std::min(usable_processors().size(), kMaxThreads)), false);
  pool_of_threads_->run(static_cast<int64_t>(div_up(bytes.size(), kPieceBytes)), [&](int64_t piece, int) {
    const size_t first = static_cast<size_t>(piece) * kPieceBytes;
    std::memcpy(to + first, bytes.data() + first, std::min(kPieceBytes, bytes.size() - first));
  });
}

// Makes the slots when they are first needed; devices that share memory with the host never do.
VkResult Uploader::start() {
  if (slots_.back().staging) return VK_SUCCESS;
  if (pool_ == VK_NULL_HANDLE) {
    auto pool = typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = context_.queue_family;
    const VkResult result = context_.vk.vkCreateCommandPool(context_.device, &pool, nullptr, &pool_);
    if (result != VK_SUCCESS) return result;
  }
  for (Slot& slot : slots_) {
    if (slot.commands == VK_NULL_HANDLE) {
      auto info = typed<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
      info.commandPool = pool_;
      info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
      info.commandBufferCount = 1;
      const VkResult result = context_.vk.vkAllocateCommandBuffers(context_.device, &info, &slot.commands);
      if (result != VK_SUCCESS) return result;
    }
    if (slot.is_free == VK_NULL_HANDLE) {
      auto fence = typed<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
      fence.flags = VK_FENCE_CREATE_SIGNALED_BIT;
      const VkResult result = context_.vk.vkCreateFence(context_.device, &fence, nullptr, &slot.is_free);
      if (result != VK_SUCCESS) return result;
    }
    if (!slot.staging) slot.staging = allocate_memory(context_, kSlotBytes, Placement::staging);
    if (!slot.staging) return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  return VK_SUCCESS;
}

VkResult Uploader::send(Slot& slot, const VulkanBuffer& buffer, size_t offset,
                        std::span<const std::byte> piece) {
  const VolkDeviceTable& vk = context_.vk;
  if (const VkResult result = vk.vkWaitForFences(context_.device, 1, &slot.is_free, VK_TRUE, UINT64_MAX);
      result != VK_SUCCESS) {
    return result;
  }
  fill(slot.staging->mapped, piece);
  auto begin = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (const VkResult result = vk.vkBeginCommandBuffer(slot.commands, &begin); result != VK_SUCCESS)
    return result;
  const VkBufferCopy copy{0, buffer.offset() + offset, piece.size()};
  vk.vkCmdCopyBuffer(slot.commands, slot.staging->buffer, buffer.handle(), 1, &copy);
  if (const VkResult result = vk.vkEndCommandBuffer(slot.commands); result != VK_SUCCESS) return result;
  vk.vkResetFences(context_.device, 1, &slot.is_free);
  return context_.submit({&slot.commands, 1}, slot.is_free);
}

Result<void> Uploader::upload(const VulkanBuffer& buffer, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  if (buffer.mapped()) {
    if (!bytes.empty()) fill(buffer.mapped(), bytes);
    return {};
  }
  VkResult result = start();
  for (size_t offset = 0; offset < bytes.size() && result == VK_SUCCESS; offset += kSlotBytes) {
    const size_t n = std::min(kSlotBytes, bytes.size() - offset);
    result = send(slots_[next_], buffer, offset, bytes.subspan(offset, n));
    next_ = (next_ + 1) % slots_.size();
  }
  if (result == VK_SUCCESS) return {};
  return fail(ErrorCode::device_failed,
              "{} ({}): {} while weights were uploaded; start the program again, update the driver, or use "
              "{}",
              context_.physical.name, context_.physical.properties.deviceName, meaning_of(result),
              set_to(Parameter::device, "cpu"));
}

}  // namespace parlance::vulkan
