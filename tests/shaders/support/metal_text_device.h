// The generated Metal shaders as a device: the operations of kernels/vulkan launch them, and their text runs
// on the CPU (workgroup.h). It shows that bindings, constants, indices, arithmetic and barriers of the text
// are right; of Apple's compiler and hardware it shows nothing.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "kernels/fused_rows.h"
#include "kernels/vulkan/runtime/shader_stream.h"
#include "shaders/support/workgroup.h"

namespace parlance::test {

// Where the shaders' text is, and where compiled ones are kept.
std::filesystem::path metal_folder();
std::filesystem::path metal_build_folder();

class MetalTextDevice final : public Device, public FusesRows {
 public:
  explicit MetalTextDevice(MetalLimits limits = {}, uint32_t seed = 1, bool has_integer_dot_product = false);
  ~MetalTextDevice() override;

  std::string_view name() const override { return "metal_text"; }
  std::string_view description() const override { return "Metal shaders on the CPU"; }
  DeviceMemory memory() const override { return {}; }
  const OpTable& ops() const override;
  int64_t most_alike_rows(DType weights) const override;
  bool fuses_rows(int64_t n_rows, std::optional<DType>) const override { return n_rows == 1; }
  const Cell<FusedMatmulArgs>& fused_matmul(DType weights) const override;
  const Cell<FusedAttentionArgs>& fused_attention() const override;
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override;
  Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) override;
  std::unique_ptr<Stream> make_stream() override;

  // Names of the shaders that have been launched by any device.
  static const std::set<std::string>& launched();

 private:
  friend class MetalTextStream;

  const MetalKernel& kernel(std::string_view shader, std::span<const uint32_t> constants);

  MetalLimits limits_;
  vulkan::DeviceLimits of_operations_;
  std::mt19937 random_;
  std::map<std::string, std::unique_ptr<Buffer>, std::less<>> constants_;
  std::map<std::byte*, Buffer*> buffers_;
};

}  // namespace parlance::test
