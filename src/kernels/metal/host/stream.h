// A stream of a Metal device: launches go into one command buffer, in order, which is committed when
// somebody wants to read or write memory, or when it has become long.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/metal/host/device.h"
#include "kernels/vulkan/runtime/shader_stream.h"

namespace parlance::metal {

class MetalStream final : public vulkan::ShaderStream {
 public:
  explicit MetalStream(MetalDevice& device);
  ~MetalStream() override;

  void upload(const Tensor& dst, std::span<const std::byte> bytes) override;
  Result<void> download(std::span<std::byte> bytes, const Tensor& src) override;
  void copy(const Tensor& dst, const Tensor& src) override;
  Result<void> synchronize() override { return finish(); }

  void dispatch(std::string_view shader, std::span<const uint32_t> specialization,
                std::span<const vulkan::Operand> operands, std::span<const std::byte> push,
                vulkan::Groups groups) override;
  // Launches of a serial encoder wait for each other.
  void begin_side_by_side() override {}
  void end_side_by_side() override {}
  const vulkan::DeviceLimits& limits() const override { return metal_.limits; }
  vulkan::Operand scratch_operand() override;
  std::optional<ptrdiff_t> bytes_between(const Buffer& from, const Buffer& to) const override;
  vulkan::Operand constants(std::string_view name, FunctionRef<std::vector<float>()> make) override;
  vulkan::Operand counters() override;

 private:
  // Encoders of the open command buffer, which is begun where there is none. One is open at a time.
  MtlComputing computing();
  MtlCopying copying();
  MtlCommands commands();
  void end_encoder();
  void commit();
  // Waits until everything is done, or says what went wrong.
  Result<void> finish();
  void note(const Error& error);

  MetalDevice& metal_;
  std::optional<Error> error_;  // the first one; nothing is done after it
  Owned<MtlQueue> queue_;
  Owned<MtlBuffer> nothing_;  // for operands without a buffer
  std::unique_ptr<Buffer> counters_;
  Owned<MtlCommands> open_;
  Owned<MtlComputing> computing_;
  Owned<MtlCopying> copying_;
  int n_open_ = 0;                             // launches and copies of the open command buffer
  std::vector<Owned<MtlCommands>> committed_;  // that nobody has waited for
};

}  // namespace parlance::metal
