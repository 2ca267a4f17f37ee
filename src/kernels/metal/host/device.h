// The device behind metal_device.h. Its memory is the processor's, too: tensors have plain addresses.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/fused_rows.h"
#include "kernels/metal/host/objects.h"
#include "kernels/metal/host/pipelines.h"
#include "kernels/vulkan/runtime/dispatch.h"

namespace parlance::metal {

// `first`: where the buffer begins in Metal's.
class MetalBuffer final : public Buffer {
 public:
  MetalBuffer(std::byte* base, size_t size, Owned<MtlBuffer> memory, size_t first = 0)
      : Buffer(base, size), memory_(std::move(memory)), first_(first) {}
  MtlBuffer memory() const { return memory_.get(); }
  size_t first() const { return first_; }

 private:
  Owned<MtlBuffer> memory_;
  size_t first_;
};

class MetalDevice final : public Device, public FusesRows {
 public:
  MetalDevice(Owned<MtlDevice> device, std::string name);

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }
  DeviceMemory memory() const override;
  const OpTable& ops() const override;
  int64_t most_alike_rows(DType weights) const override;
  bool fuses_rows(int64_t n_rows, std::optional<DType>) const override { return n_rows == 1; }
  const Cell<FusedMatmulArgs>& fused_matmul(DType weights) const override;
  const Cell<FusedAttentionArgs>& fused_attention() const override;
  size_t max_buffer_bytes() const override { return [device_.get() maxBufferLength] - kPadding; }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override;
  // Weights stay where they are mapped, where Metal can show them to kernels there.
  Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) override;
  std::unique_ptr<Stream> make_stream() override;

  MtlDevice metal() const { return device_.get(); }
  Pipelines& pipelines() { return pipelines_; }
  // What kernels are told; of a device in use it does not change.
  vulkan::DeviceLimits limits;
  // See constants() of dispatch.h.
  Result<Buffer*> constants(std::string_view name, FunctionRef<std::vector<float>()> make);

 private:
  static constexpr size_t kPadding = 16;  // kernels read whole quads of floats

  Owned<MtlDevice> device_;
  std::string name_, description_;
  Pipelines pipelines_;
  std::mutex constants_mutex_;
  std::map<std::string, std::unique_ptr<Buffer>, std::less<>> constants_;
};

// What make_metal_device() gives.
Result<std::unique_ptr<Device>> open_device(int index, const DeviceOptions& options);

}  // namespace parlance::metal
