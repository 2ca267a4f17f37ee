// The Vulkan device behind vulkan_device.h.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/fused_rows.h"
#include "kernels/vulkan/runtime/memory.h"
#include "kernels/vulkan/runtime/pipelines.h"
#include "kernels/vulkan/runtime/uploader.h"

namespace parlance::vulkan {

class VulkanDevice final : public Device, public FusesRows {
 public:
  explicit VulkanDevice(std::unique_ptr<Context> context);

  std::string_view name() const override { return context_->physical.name; }
  std::string_view description() const override { return context_->physical.properties.deviceName; }
  DeviceMemory memory() const override { return memory_of(context_->physical); }
  const OpTable& ops() const override;
  int64_t most_alike_rows(DType weights) const override;

  bool fuses_rows(int64_t n_rows, std::optional<DType>) const override { return n_rows == 1; }
  const Cell<FusedMatmulArgs>& fused_matmul(DType weights) const override;
  const Cell<FusedAttentionArgs>& fused_attention() const override;

  size_t max_buffer_bytes() const override { return context_->max_allocation - MemoryPool::kAlignment; }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override;
  Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) override;
  std::unique_ptr<Stream> make_stream() override;

  Context& context() { return *context_; }
  MemoryPool& memory_pool() { return memory_pool_; }
  Pipelines& pipelines() { return pipelines_; }
  // See constants() of dispatch.h.
  Result<Buffer*> constants(std::string_view name, FunctionRef<std::vector<float>()> make);

 private:
  std::unique_ptr<Context> context_;
  MemoryPool memory_pool_;
  Pipelines pipelines_;
  Uploader uploader_;
  std::mutex constants_mutex_;
  std::map<std::string, std::unique_ptr<Buffer>, std::less<>> constants_;
};

}  // namespace parlance::vulkan
