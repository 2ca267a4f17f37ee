// A stream that launches the shaders of this folder: Vulkan's, and that of the tests which runs their Metal
// text.
#pragma once

#include "kernels/vulkan/runtime/dispatch.h"

namespace parlance::vulkan {

// What the functions of dispatch.h ask of it.
class ShaderStream : public Stream {
 public:
  using Stream::Stream;

  virtual void dispatch(std::string_view shader, std::span<const uint32_t> specialization,
                        std::span<const Operand> operands, std::span<const std::byte> push,
                        Groups groups) = 0;
  virtual void begin_side_by_side() = 0;
  virtual void end_side_by_side() = 0;
  virtual const DeviceLimits& limits() const = 0;
  virtual Operand scratch_operand() = 0;
  // Bytes from the start of one buffer to that of the other, where both are in one piece of the driver's
  // memory.
  virtual std::optional<ptrdiff_t> bytes_between(const Buffer& from, const Buffer& to) const = 0;
  virtual Operand constants(std::string_view name, FunctionRef<std::vector<float>()> make) = 0;
  virtual Operand counters() = 0;
};

}  // namespace parlance::vulkan
