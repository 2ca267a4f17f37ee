#include "kernels/vulkan/runtime/memory.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/checked.h"
#include "base/parameter.h"
#include "base/units.h"

namespace parlance::vulkan {

namespace {

constexpr size_t kBlockBytes = size_t{256} << 20;

// A number for a buffer, in a range that no system gives to a process; a gap keeps its end off the next one.
std::byte* unique_base(size_t bytes) {
  constexpr uint64_t kFirst = uint64_t{1} << 60;
  static std::atomic<uint64_t> next{kFirst};
  const uint64_t step = align_up<uint64_t>(bytes, MemoryPool::kAlignment) + MemoryPool::kAlignment;
  return reinterpret_cast<std::byte*>(next.fetch_add(step));
}

size_t padded(size_t bytes) {
  return align_up(std::max<size_t>(bytes, 1), MemoryPool::kAlignment);
}

// The first type among `allowed` bits that has all of `flags`, in the driver's order, which is by speed.
std::optional<uint32_t> memory_type(const Context& context, uint32_t allowed, VkMemoryPropertyFlags flags) {
  const VkPhysicalDeviceMemoryProperties& types = context.memory_types;
  for (uint32_t i = 0; i < types.memoryTypeCount; ++i) {
    if ((allowed >> i & 1) && (types.memoryTypes[i].propertyFlags & flags) == flags) return i;
  }
  return std::nullopt;
}

std::optional<uint32_t> memory_type(const Context& context, uint32_t allowed, Placement placement) {
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (placement != Placement::device) {
    // Reading uncached memory is slower than the copy by far.
    const VkMemoryPropertyFlags wanted =
        placement == Placement::readback ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : 0;
    const auto type = memory_type(context, allowed, kHost | wanted);
    return type ? type : memory_type(context, allowed, kHost);
  }
  const bool shares_host_memory = context.limits.is_software || context.physical.properties.deviceType ==
                                                                    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  if (shares_host_memory) {
    if (const auto type = memory_type(context, allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kHost))
      return type;
  }
  return memory_type(context, allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
}

}  // namespace

Allocation::~Allocation() {
  context.vk.vkDestroyBuffer(context.device, buffer, nullptr);
  context.vk.vkFreeMemory(context.device, memory, nullptr);
}

std::unique_ptr<Allocation> allocate_memory(Context& context, size_t bytes, Placement placement) {
  auto allocation = std::make_unique<Allocation>(context, bytes);
  auto buffer = typed<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  buffer.size = bytes;
  buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (context.vk.vkCreateBuffer(context.device, &buffer, nullptr, &allocation->buffer) != VK_SUCCESS)
    return nullptr;
  VkMemoryRequirements needs;
  context.vk.vkGetBufferMemoryRequirements(context.device, allocation->buffer, &needs);
  const auto type = memory_type(context, needs.memoryTypeBits, placement);
  if (!type) return nullptr;
  auto memory = typed<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  memory.allocationSize = needs.size;
  memory.memoryTypeIndex = *type;
  if (context.vk.vkAllocateMemory(context.device, &memory, nullptr, &allocation->memory) != VK_SUCCESS ||
      context.vk.vkBindBufferMemory(context.device, allocation->buffer, allocation->memory, 0) !=
          VK_SUCCESS) {
    return nullptr;
  }
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if ((context.memory_types.memoryTypes[*type].propertyFlags & kHost) == kHost) {
    void* address = nullptr;
    if (context.vk.vkMapMemory(context.device, allocation->memory, 0, VK_WHOLE_SIZE, 0, &address) ==
        VK_SUCCESS) {
      allocation->mapped = static_cast<std::byte*>(address);
    }
  }
  if (placement != Placement::device && !allocation->mapped) return nullptr;
  return allocation;
}

VulkanBuffer::VulkanBuffer(MemoryPool& pool, Allocation& block, size_t offset, std::byte* base, size_t size)
    : Buffer(base, size), pool_(pool), block_(block), offset_(offset) {}

VulkanBuffer::~VulkanBuffer() {
  pool_.release(*this);
}

size_t VulkanBuffer::padded_size() const {
  return padded(size());
}

Result<std::unique_ptr<VulkanBuffer>> MemoryPool::allocate(size_t bytes) {
  if (bytes > context_.max_allocation - kAlignment) {
    return fail(
        ErrorCode::out_of_memory,
        "{}: cannot allocate {} bytes ({:.2f} GiB) in one piece, the driver allows {:.2f} GiB; use a smaller "
        "context, batch or model, or a smaller {}",
        context_.physical.name, bytes, gib(bytes), gib(context_.max_allocation), Parameter::gpu_layers);
  }
  const std::lock_guard lock(mutex_);
  const size_t size = padded(bytes);
  const auto take = [&](Block& block) -> std::unique_ptr<VulkanBuffer> {
    const std::optional<size_t> offset = block.parts.allocate(size);
    if (!offset) return nullptr;
    return std::make_unique<VulkanBuffer>(*this, *block.memory, *offset, unique_base(bytes), bytes);
  };
  for (Block& block : blocks_) {
    if (auto buffer = take(block)) return buffer;
  }
  // Drivers on the CPU promise more than there is.
  const size_t total = memory_of(context_.physical).total;
  if (size > total - std::min(total, allocated_)) return out_of_memory(bytes);
  size_t block_bytes = std::min(std::max(size, kBlockBytes), context_.max_allocation);
  auto memory = allocate_memory(context_, block_bytes, Placement::device);
  if (!memory && size < block_bytes) {
    block_bytes = size;
    memory = allocate_memory(context_, block_bytes, Placement::device);
  }
  if (!memory) return out_of_memory(bytes);
  allocated_ += block_bytes;
  blocks_.push_back({std::move(memory), Suballocator(block_bytes)});
  return take(blocks_.back());
}

tl::unexpected<Error> MemoryPool::out_of_memory(size_t bytes) const {
  const DeviceMemory memory = memory_of(context_.physical);
  return fail(ErrorCode::out_of_memory,
              "{}: cannot allocate {} bytes ({:.2f} GiB), {:.2f} of {:.2f} GiB are free; use a smaller "
              "context, batch "
              "or model, or a smaller {}",
              context_.physical.name, bytes, gib(bytes), gib(memory.free), gib(memory.total),
              Parameter::gpu_layers);
}

void MemoryPool::release(VulkanBuffer& buffer) {
  const std::lock_guard lock(mutex_);
  const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const Block& b) { return b.memory.get() == &buffer.block(); });
  block->parts.release(buffer.offset(), buffer.padded_size());
  if (block->parts.is_unused()) {
    context_.wait_idle();  // an upload of what was just freed may still run
    allocated_ -= block->parts.bytes();
    blocks_.erase(block);
  }
}

}  // namespace parlance::vulkan
