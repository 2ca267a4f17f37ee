// A command buffer with the descriptor sets that its launches use.
#pragma once

#include <span>
#include <vector>

#include "kernels/vulkan/runtime/context.h"
#include "kernels/vulkan/runtime/pipelines.h"

namespace parlance::vulkan {

class Recording {
 public:
  Recording(Context& context, VkCommandPool pool) : context_(context), pool_(pool) {}
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  VkCommandBuffer handle() const { return commands_; }
  size_t n_commands() const { return n_commands_; }

  // Empties it for new commands; the device must be done with the old ones.
  VkResult begin();
  VkResult end() { return context_.vk.vkEndCommandBuffer(commands_); }

  // The next command starts when those before it are finished, also those of earlier recordings.
  void wait_for_earlier_commands();
  VkResult dispatch(const Pipeline& pipeline, std::span<const VkDescriptorBufferInfo> buffers,
                    std::span<const std::byte> push, Groups groups);
  // Waits for earlier commands by itself.
  void copy(VkBuffer from, size_t from_offset, VkBuffer to, size_t to_offset, size_t bytes);
  // What was copied can be read by the host when the recording has run.
  void show_to_host();

 private:
  VkResult allocate_set(VkDescriptorSetLayout layout, size_t n_bindings, VkDescriptorSet& set);

  struct SetPool {
    VkDescriptorPool handle = VK_NULL_HANDLE;
    uint32_t sets_left = 0;
    uint32_t buffers_left = 0;
  };

  Context& context_;
  VkCommandPool pool_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  std::vector<SetPool> set_pools_;
  size_t current_pool_ = 0;  // pools before it are full
  size_t n_commands_ = 0;
  bool may_follow_transfer_ =
      true;  // a copy was recorded since the last wait, or may end the recording before
};

}  // namespace parlance::vulkan
