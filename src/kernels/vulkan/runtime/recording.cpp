#include "kernels/vulkan/runtime/recording.h"

#include <array>
#include <utility>

namespace parlance::vulkan {

namespace {

constexpr uint32_t kSetsPerPool = 128;
constexpr uint32_t kBuffersPerPool = 8 * kSetsPerPool;

void memory_barrier(const Context& context, VkCommandBuffer commands, VkPipelineStageFlags from_stage,
                    VkAccessFlags from, VkPipelineStageFlags to_stage, VkAccessFlags to) {
  auto barrier = typed<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = from;
  barrier.dstAccessMask = to;
  context.vk.vkCmdPipelineBarrier(commands, from_stage, to_stage, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace

Recording::~Recording() {
  for (const SetPool& pool : set_pools_)
    context_.vk.vkDestroyDescriptorPool(context_.device, pool.handle, nullptr);
  if (commands_ != VK_NULL_HANDLE) context_.vk.vkFreeCommandBuffers(context_.device, pool_, 1, &commands_);
}

VkResult Recording::begin() {
  if (commands_ == VK_NULL_HANDLE) {
    auto info = typed<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    const VkResult result = context_.vk.vkAllocateCommandBuffers(context_.device, &info, &commands_);
    if (result != VK_SUCCESS) return result;
  }
  for (SetPool& pool : set_pools_) {
    context_.vk.vkResetDescriptorPool(context_.device, pool.handle, 0);
    pool.sets_left = kSetsPerPool;
    pool.buffers_left = kBuffersPerPool;
  }
  current_pool_ = 0;
  n_commands_ = 0;
  may_follow_transfer_ = true;
  auto info = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  info.flags =
      VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;  // a step may be replayed before its last run ended
  return context_.vk.vkBeginCommandBuffer(commands_, &info);
}

// Waiting for shaders alone takes less than waiting for copies too.
void Recording::wait_for_earlier_commands() {
  if (!std::exchange(may_follow_transfer_, false)) {
    memory_barrier(context_, commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                   VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    return;
  }
  constexpr VkPipelineStageFlags kStages =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  constexpr VkAccessFlags kReads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;
  memory_barrier(context_, commands_, kStages, kWrites, kStages, kReads | kWrites);
}

VkResult Recording::allocate_set(VkDescriptorSetLayout layout, size_t n_bindings, VkDescriptorSet& set) {
  const auto n_buffers = static_cast<uint32_t>(n_bindings);
  while (current_pool_ < set_pools_.size() &&
         (set_pools_[current_pool_].sets_left == 0 || set_pools_[current_pool_].buffers_left < n_buffers)) {
    ++current_pool_;
  }
  if (current_pool_ == set_pools_.size()) {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kBuffersPerPool};
    auto info = typed<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    info.maxSets = kSetsPerPool;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    SetPool pool{VK_NULL_HANDLE, kSetsPerPool, kBuffersPerPool};
    const VkResult result = context_.vk.vkCreateDescriptorPool(context_.device, &info, nullptr, &pool.handle);
    if (result != VK_SUCCESS) return result;
    set_pools_.push_back(pool);
  }
  SetPool& pool = set_pools_[current_pool_];
  --pool.sets_left;
  pool.buffers_left -= n_buffers;
  auto info = typed<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  info.descriptorPool = pool.handle;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout;
  return context_.vk.vkAllocateDescriptorSets(context_.device, &info, &set);
}

VkResult Recording::dispatch(const Pipeline& pipeline, std::span<const VkDescriptorBufferInfo> buffers,
                             std::span<const std::byte> push, Groups groups) {
  const VolkDeviceTable& vk = context_.vk;
  VkDescriptorSet set = VK_NULL_HANDLE;
  if (const VkResult result = allocate_set(pipeline.interface.set, buffers.size(), set);
      result != VK_SUCCESS) {
    return result;
  }
  std::array<VkWriteDescriptorSet, Pipelines::kMaxBindings> writes;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    writes[i] = typed<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &buffers[i];
  }
  vk.vkUpdateDescriptorSets(context_.device, static_cast<uint32_t>(buffers.size()), writes.data(), 0,
                            nullptr);
  ++n_commands_;
  vk.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  vk.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.interface.layout, 0, 1, &set,
                             0, nullptr);
  if (!push.empty()) {
    vk.vkCmdPushConstants(commands_, pipeline.interface.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          static_cast<uint32_t>(push.size()), push.data());
  }
  vk.vkCmdDispatch(commands_, groups.x, groups.y, groups.z);
  return VK_SUCCESS;
}

void Recording::copy(VkBuffer from, size_t from_offset, VkBuffer to, size_t to_offset, size_t bytes) {
  may_follow_transfer_ = true;
  wait_for_earlier_commands();
  may_follow_transfer_ = true;
  ++n_commands_;
  const VkBufferCopy region{from_offset, to_offset, bytes};
  context_.vk.vkCmdCopyBuffer(commands_, from, to, 1, &region);
}

void Recording::show_to_host() {
  memory_barrier(context_, commands_, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                 VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

}  // namespace parlance::vulkan
