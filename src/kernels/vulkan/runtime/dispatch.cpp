#include "kernels/vulkan/runtime/dispatch.h"

#include <algorithm>
#include <cassert>

#include "base/checked.h"
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

std::optional<JointOperand> joint_operand(Stream& s, std::span<const Tensor> tensors) {
  constexpr ptrdiff_t kAlignment = 256;
  const DeviceLimits& limits = limits_of(s);
  const auto most_bytes = static_cast<ptrdiff_t>(std::min<size_t>(limits.max_storage_range, UINT32_MAX));
  // Bytes from the first tensor's buffer; buffers start at multiples of the alignment.
  std::vector<ptrdiff_t> starts;
  const Tensor* lowest = nullptr;
  ptrdiff_t first = 0, end = 0;
  for (const Tensor& tensor : tensors) {
    const auto between = shader_stream(s).bytes_between(*tensors[0].buffer, *tensor.buffer);
    if (!between) return std::nullopt;
    const ptrdiff_t start = *between + (tensor.data - tensor.buffer->base());
    if (!lowest || start < first) {
      lowest = &tensor;
      first = start;
    }
    end = std::max(end, start + static_cast<ptrdiff_t>(tensor.size()));
    starts.push_back(start);
  }
  const ptrdiff_t low = lowest->data - lowest->buffer->base();
  first -= low % kAlignment;
  const ptrdiff_t size = align_up(end - first, kAlignment);  // as buffers are padded
  if (size > most_bytes) return std::nullopt;
  JointOperand joint{{lowest->buffer, static_cast<size_t>(low - low % kAlignment), static_cast<size_t>(size)},
                     {}};
  for (const ptrdiff_t start : starts) joint.at.push_back(static_cast<uint32_t>(start - first));
  return joint;
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

Operand counters(Stream& s) {
  return shader_stream(s).counters();
}

Operand scratch_of(Stream& s) {
  return shader_stream(s).scratch_operand();
}

}  // namespace parlance::vulkan
