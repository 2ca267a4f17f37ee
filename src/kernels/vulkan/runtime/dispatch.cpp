#include "kernels/vulkan/runtime/dispatch.h"

#include <cassert>

#include "kernels/vulkan/runtime/shader_stream.h"

namespace parlance::vulkan {

namespace {

ShaderStream& shader_stream(Stream& s) {
  return static_cast<ShaderStream&>(s);
}

}  // namespace

Operand operand_of(const Tensor& tensor) {
  return {.buffer = tensor ? tensor.buffer : nullptr};
}

uint32_t byte_offset(const Tensor& tensor) {
  if (!tensor) return 0;
  const auto offset = static_cast<size_t>(tensor.data - tensor.buffer->base());
  assert(offset <= UINT32_MAX);
  return static_cast<uint32_t>(offset);
}

uint32_t word_offset(const Tensor& tensor) {
  if (!tensor) return 0;
  const auto offset = static_cast<size_t>(tensor.data - tensor.buffer->base());
  assert(offset % 4 == 0 && offset / 4 <= UINT32_MAX);
  return static_cast<uint32_t>(offset / 4);
}

void dispatch(Stream& s, std::string_view shader, std::span<const uint32_t> specialization,
              std::span<const Operand> operands, std::span<const std::byte> push, Groups groups) {
  shader_stream(s).dispatch(shader, specialization, operands, push, groups);
}

SideBySide::SideBySide(Stream& s) : stream_(s) {
  shader_stream(s).begin_side_by_side();
}

SideBySide::~SideBySide() {
  shader_stream(stream_).end_side_by_side();
}

const DeviceLimits& limits_of(Stream& s) {
  return shader_stream(s).limits();
}

Operand constants(Stream& s, std::string_view name, FunctionRef<std::vector<float>()> make) {
  return shader_stream(s).constants(name, make);
}

Operand scratch_of(Stream& s) {
  return shader_stream(s).scratch_operand();
}

}  // namespace parlance::vulkan
