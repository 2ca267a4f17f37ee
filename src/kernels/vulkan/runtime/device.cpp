#include "kernels/vulkan/runtime/device.h"

#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/runtime/stream.h"
#include "kernels/vulkan/vulkan_device.h"

namespace parlance::vulkan {

VulkanDevice::VulkanDevice(std::unique_ptr<Context> context)
    : context_(std::move(context)), memory_pool_(*context_), pipelines_(*context_), uploader_(*context_) {}

const OpTable& VulkanDevice::ops() const {
  return op_table();
}

int64_t VulkanDevice::most_alike_rows(DType /*weights*/) const {
  return context_->limits.is_deterministic ? INT64_MAX : kMostAlikeRows;
}

const Cell<FusedMatmulArgs>& VulkanDevice::fused_matmul(DType weights) const {
  return vulkan::fused_matmul(weights);
}

const Cell<FusedAttentionArgs>& VulkanDevice::fused_attention() const {
  return vulkan::fused_attention();
}

Result<std::unique_ptr<Buffer>> VulkanDevice::allocate(size_t bytes) {
  PARLANCE_TRY(std::unique_ptr<Buffer> buffer, memory_pool_.allocate(bytes));
  return buffer;
}

Result<std::unique_ptr<Buffer>> VulkanDevice::import_weights(std::span<const std::byte> bytes) {
  PARLANCE_TRY(std::unique_ptr<VulkanBuffer> buffer, memory_pool_.allocate(bytes.size()));
  PARLANCE_CHECK(uploader_.upload(*buffer, bytes));
  return std::unique_ptr<Buffer>(std::move(buffer));
}

Result<Buffer*> VulkanDevice::constants(std::string_view name, FunctionRef<std::vector<float>()> make) {
  const std::lock_guard lock(constants_mutex_);
  const auto found = constants_.find(name);
  if (found != constants_.end()) return found->second.get();
  const std::vector<float> values = make();
  PARLANCE_TRY(std::unique_ptr<Buffer> buffer, import_weights(std::as_bytes(std::span(values))));
  return constants_.emplace(name, std::move(buffer)).first->second.get();
}

std::unique_ptr<Stream> VulkanDevice::make_stream() {
  return std::make_unique<VulkanStream>(*this);
}

}  // namespace parlance::vulkan

namespace parlance {

Result<std::unique_ptr<Device>> make_vulkan_device(int index, const DeviceOptions& options) {
  PARLANCE_TRY(std::unique_ptr<vulkan::Context> context, vulkan::open_context(index));
  context->limits.is_deterministic = options.is_deterministic;
  return std::make_unique<vulkan::VulkanDevice>(std::move(context));
}

}  // namespace parlance
