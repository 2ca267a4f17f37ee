// Memory of a device: buffers cut from large blocks, since a driver's allocations are few and slow.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "kernels/vulkan/runtime/context.h"
#include "kernels/vulkan/runtime/suballocator.h"

namespace parlance::vulkan {

// One allocation of the driver with one VkBuffer over all of it.
struct Allocation {
  Allocation(Context& context, size_t size) : context(context), size(size) {}
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  Context& context;
  size_t size;  // bytes
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::byte* mapped = nullptr;  // its address on the host, if it has one
};

// What memory is for, which decides where it lies.
enum class Placement {
  device,    // for shaders
  staging,   // written by the host, read by the device
  readback,  // written by the device, read by the host
};

// Null when the driver refuses.
std::unique_ptr<Allocation> allocate_memory(Context& context, size_t bytes, Placement placement);

class MemoryPool;

// A part of a block. Its base is no address, only a number that no other buffer of the process has.
class VulkanBuffer final : public Buffer {
 public:
  VulkanBuffer(MemoryPool& pool, Allocation& block, size_t offset, std::byte* base, size_t size);
  ~VulkanBuffer() override;

  VkBuffer handle() const { return block_.buffer; }
  size_t offset() const { return offset_; }  // in handle()
  size_t padded_size() const;                // what belongs to it, of which size() was asked for
  std::byte* mapped() const { return block_.mapped ? block_.mapped + offset_ : nullptr; }
  Allocation& block() const { return block_; }

 private:
  MemoryPool& pool_;
  Allocation& block_;
  size_t offset_;
};

class MemoryPool {
 public:
  // Of buffers within a block; no device asks for more.
  static constexpr size_t kAlignment = 256;

  explicit MemoryPool(Context& context) : context_(context) {}

  Result<std::unique_ptr<VulkanBuffer>> allocate(size_t bytes);

 private:
  friend class VulkanBuffer;
  struct Block {
    std::unique_ptr<Allocation> memory;
    Suballocator parts;
  };

  tl::unexpected<Error> out_of_memory(size_t bytes) const;
  void release(VulkanBuffer& buffer);

  Context& context_;
  std::mutex mutex_;
  std::list<Block> blocks_;
  size_t allocated_ = 0;  // bytes of all blocks
};

}  // namespace parlance::vulkan
