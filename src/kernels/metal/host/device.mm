#include "kernels/metal/host/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/parameter.h"
#include "kernels/metal/host/stream.h"
#include "kernels/vulkan/kernels.h"

namespace parlance::metal {

MetalDevice::MetalDevice(Owned<MtlDevice> device, std::string name)
    : device_(std::move(device)), name_(std::move(name)), pipelines_(device_.get()) {
  const AutoreleasePool pool;
  description_ = [[device_.get() name] UTF8String];
  limits = {.has_subgroup_arithmetic = true,
            .max_groups = {65535, 65535, 65535},
            .max_group_invocations = static_cast<uint32_t>([device_.get() maxThreadsPerThreadgroup].width),
            .max_storage_range = std::min<size_t>([device_.get() maxBufferLength], UINT32_MAX),
            .shared_bytes = [device_.get() maxThreadgroupMemoryLength]};
}

DeviceMemory MetalDevice::memory() const {
  const size_t total = [device_.get() recommendedMaxWorkingSetSize];
  return {.total = total, .free = total - std::min<size_t>(total, [device_.get() currentAllocatedSize])};
}

const OpTable& MetalDevice::ops() const {
  return vulkan::op_table();
}

int64_t MetalDevice::most_alike_rows(DType /*weights*/) const {
  return limits.is_deterministic ? INT64_MAX : vulkan::kMostAlikeRows;
}

const Cell<FusedMatmulArgs>& MetalDevice::fused_matmul(DType weights) const {
  return vulkan::fused_matmul(weights);
}

const Cell<FusedAttentionArgs>& MetalDevice::fused_attention() const {
  return vulkan::fused_attention();
}

Result<std::unique_ptr<Buffer>> MetalDevice::allocate(size_t bytes) {
  if (bytes > max_buffer_bytes())
    return fail(ErrorCode::out_of_memory, "{} ({}): has no buffers of {} bytes, {} at most", name_,
                description_, bytes, max_buffer_bytes());
  const size_t padded = align_up<size_t>(std::max<size_t>(bytes, 1), kPadding);
  Owned<MtlBuffer> memory([device_.get() newBufferWithLength:padded options:MTLResourceStorageModeShared]);
  if (!memory)
    return fail(ErrorCode::out_of_memory, "{} ({}): {} bytes of memory cannot be had, of {} it uses {}",
                name_, description_, bytes, static_cast<size_t>([device_.get() recommendedMaxWorkingSetSize]),
                static_cast<size_t>([device_.get() currentAllocatedSize]));
  auto* const base = static_cast<std::byte*>([memory.get() contents]);
  return std::make_unique<MetalBuffer>(base, bytes, std::move(memory));
}

Result<std::unique_ptr<Buffer>> MetalDevice::import_weights(std::span<const std::byte> bytes) {
  constexpr size_t kAlignment = 16;  // of what kernels read at once
  const auto page = static_cast<size_t>(getpagesize());
  const auto address = reinterpret_cast<size_t>(bytes.data());
  if (!bytes.empty() && address % kAlignment == 0) {
    const size_t first = address % page, length = align_up(first + bytes.size(), page);
    auto* const base = const_cast<std::byte*>(bytes.data());
    Owned<MtlBuffer> memory([device_.get() newBufferWithBytesNoCopy:base - first
                                                             length:length
                                                            options:MTLResourceStorageModeShared
                                                        deallocator:nil]);
    if (memory) return std::make_unique<MetalBuffer>(base, bytes.size(), std::move(memory), first);
  }
  PARLANCE_TRY(std::unique_ptr<Buffer> buffer, allocate(bytes.size()));
  if (!bytes.empty()) std::memcpy(buffer->base(), bytes.data(), bytes.size());
  return buffer;
}

std::unique_ptr<Stream> MetalDevice::make_stream() {
  return std::make_unique<MetalStream>(*this);
}

Result<Buffer*> MetalDevice::constants(std::string_view name, FunctionRef<std::vector<float>()> make) {
  const std::lock_guard lock(constants_mutex_);
  const auto found = constants_.find(name);
  if (found != constants_.end()) return found->second.get();
  const std::vector<float> values = make();
  PARLANCE_TRY(std::unique_ptr<Buffer> buffer, allocate(values.size() * sizeof(float)));
  std::memcpy(buffer->base(), values.data(), values.size() * sizeof(float));
  return constants_.emplace(name, std::move(buffer)).first->second.get();
}

Result<std::unique_ptr<Device>> open_device(int index, const DeviceOptions& options) {
  const AutoreleasePool pool;
  const Owned<NSArray*> all(MTLCopyAllDevices());
  const auto n_devices = static_cast<int>([all.get() count]);
  if (index < 0 || index >= n_devices)
    return fail(ErrorCode::not_found, "metal:{}: there is no such device; this machine has {}", index,
                n_devices);
  const auto found = static_cast<MtlDevice>([all.get() objectAtIndex:static_cast<NSUInteger>(index)]);
  auto device = std::make_unique<MetalDevice>(kept(found), "metal:" + std::to_string(index));
  if (![found supportsFamily:MTLGPUFamilyApple7] || ![found hasUnifiedMemory])
    return fail(ErrorCode::unsupported,
                "metal:{} ({}): kernels need sums over simdgroups and the processor's memory, as GPUs of the "
                "family Apple7 and later have; use {}",
                index, device->description(), set_to(Parameter::device, "cpu"));
  PARLANCE_TRY(const Pipelines::Pipeline* copy, device->pipelines().find("copy", {}));
  device->limits.subgroup_size = static_cast<uint32_t>([copy->state.get() threadExecutionWidth]);
  device->limits.is_deterministic = options.is_deterministic;
  return device;
}

}  // namespace parlance::metal
