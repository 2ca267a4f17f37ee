#include "shaders/support/metal_text_device.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/checked.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/runtime/copy.h"

namespace parlance::test {

namespace {

constexpr int kPushIndex = 30;  // as tools/translate-shaders-to-metal.sh has it

std::set<std::string>& launched_shaders() {
  static std::set<std::string> names;
  return names;
}

// Rounded up to whole quads, which shaders read.
class HostBuffer final : public Buffer {
 public:
  HostBuffer(std::byte* base, size_t size, std::map<std::byte*, Buffer*>& registered)
      : Buffer(base, size), registered_(registered) {
    registered_[base] = this;
  }
  ~HostBuffer() override {
    registered_.erase(base());
    std::free(base());
  }

 private:
  std::map<std::byte*, Buffer*>& registered_;
};

}  // namespace

std::filesystem::path metal_folder() {
  return PARLANCE_METAL_TEXT;
}
std::filesystem::path metal_build_folder() {
  return PARLANCE_METAL_BUILD;
}

class MetalTextStream final : public vulkan::ShaderStream {
 public:
  explicit MetalTextStream(MetalTextDevice& device) : ShaderStream(device), metal_(device) {}
  ~MetalTextStream() override { release_memory(); }

  void upload(const Tensor& dst, std::span<const std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(dst.data, bytes.data(), bytes.size());
  }
  Result<void> download(std::span<std::byte> bytes, const Tensor& src) override {
    if (!bytes.empty()) std::memcpy(bytes.data(), src.data, bytes.size());
    return {};
  }
  void copy(const Tensor& dst, const Tensor& src) override {
    if (!vulkan::copy_by_shader(*this, dst, src)) std::memcpy(dst.data, src.data, src.size());
  }
  Result<void> synchronize() override { return {}; }

  void dispatch(std::string_view shader, std::span<const uint32_t> specialization,
                std::span<const vulkan::Operand> operands, std::span<const std::byte> push,
                vulkan::Groups groups) override {
    alignas(16) static std::byte nothing[256];
    std::vector<metal_shim::Binding> bindings(kPushIndex + 1, {nothing, sizeof nothing});
    for (size_t i = 0; i < operands.size(); ++i) {
      const vulkan::Operand& operand = operands[i];
      if (!operand.buffer) continue;
      const size_t all = align_up<size_t>(operand.buffer->size(), 16);
      bindings[i] = {operand.buffer->base() + operand.offset,
                     operand.size > 0 ? operand.size : all - operand.offset};
    }
    std::vector<std::byte> constants(push.begin(), push.end());
    bindings[kPushIndex] = {constants.data(), constants.size()};
    run_workgroups(metal_.kernel(shader, specialization), bindings, {groups.x, groups.y, groups.z},
                   metal_.limits_, metal_.random_);
  }
  void begin_side_by_side() override {}
  void end_side_by_side() override {}
  const vulkan::DeviceLimits& limits() const override { return metal_.of_operations_; }
  vulkan::Operand scratch_operand() override {
    return {.buffer = scratch().empty() ? nullptr : metal_.buffers_.at(scratch().data())};
  }
  // A shader may be shown bytes of one buffer alone.
  std::optional<ptrdiff_t> bytes_between(const Buffer& from, const Buffer& to) const override {
    return &from == &to ? std::optional<ptrdiff_t>(0) : std::nullopt;
  }
  vulkan::Operand constants(std::string_view name, FunctionRef<std::vector<float>()> make) override {
    std::unique_ptr<Buffer>& buffer = metal_.constants_[std::string(name)];
    if (!buffer) {
      const std::vector<float> values = make();
      buffer = std::move(*metal_.import_weights(std::as_bytes(std::span(values))));
    }
    return {.buffer = buffer.get()};
  }
  vulkan::Operand counters() override {
    if (!counters_) {
      const std::vector<uint32_t> zeros(vulkan::kCounters);
      counters_ = std::move(*metal_.import_weights(std::as_bytes(std::span(zeros))));
    }
    return {.buffer = counters_.get()};
  }

 private:
  MetalTextDevice& metal_;
  std::unique_ptr<Buffer> counters_;
};

MetalTextDevice::MetalTextDevice(MetalLimits limits, uint32_t seed, bool has_integer_dot_product)
    : limits_(limits), random_(seed) {
  // What Apple's GPUs have. Small tiles, as for drivers on the CPU.
  of_operations_ = {.subgroup_size = limits.simd_width,
                    .has_subgroup_arithmetic = true,
                    .max_groups = {65535, 65535, 65535},
                    .max_group_invocations = 1024,
                    .max_storage_range = size_t{1} << 31,
                    .shared_bytes = limits.threadgroup_bytes,
                    .has_integer_dot_product = has_integer_dot_product,
                    .orders_groups = limits.orders_groups,
                    .is_software = true};
}

MetalTextDevice::~MetalTextDevice() {
  constants_.clear();
}

const OpTable& MetalTextDevice::ops() const {
  return vulkan::op_table();
}

int64_t MetalTextDevice::most_alike_rows(DType /*weights*/) const {
  return vulkan::kMostAlikeRows;
}

const Cell<FusedMatmulArgs>& MetalTextDevice::fused_matmul(DType weights) const {
  return vulkan::fused_matmul(weights);
}

const Cell<FusedAttentionArgs>& MetalTextDevice::fused_attention() const {
  return vulkan::fused_attention();
}

Result<std::unique_ptr<Buffer>> MetalTextDevice::allocate(size_t bytes) {
  auto* base =
      static_cast<std::byte*>(std::aligned_alloc(256, align_up<size_t>(std::max<size_t>(bytes, 1), 256)));
  std::memset(base, 0xff, bytes);  // as numbers, none
  return std::make_unique<HostBuffer>(base, bytes, buffers_);
}

Result<std::unique_ptr<Buffer>> MetalTextDevice::import_weights(std::span<const std::byte> bytes) {
  PARLANCE_TRY(std::unique_ptr<Buffer> buffer, allocate(bytes.size()));
  std::memcpy(buffer->base(), bytes.data(), bytes.size());
  return buffer;
}

std::unique_ptr<Stream> MetalTextDevice::make_stream() {
  return std::make_unique<MetalTextStream>(*this);
}

const std::set<std::string>& MetalTextDevice::launched() {
  return launched_shaders();
}

const MetalKernel& MetalTextDevice::kernel(std::string_view shader, std::span<const uint32_t> constants) {
  static std::map<std::string, MetalKernel> kernels;
  launched_shaders().emplace(shader);
  std::string key(shader);
  key.append(reinterpret_cast<const char*>(constants.data()), constants.size_bytes());
  const auto found = kernels.find(key);
  if (found != kernels.end()) return found->second;
  const std::string name(shader);
  std::ifstream file(metal_folder() / (name + ".metal"), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return kernels[key] = load_kernel(prepared_kernel(text, name, constants), name, metal_build_folder());
}

}  // namespace parlance::test
