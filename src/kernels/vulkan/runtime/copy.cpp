// Stream::copy with Vulkan: large copies by a shader.
#include "kernels/vulkan/runtime/copy.h"

#include "kernels/vulkan/grid.h"

namespace parlance::vulkan {

namespace {

constexpr size_t kPiece = 16;
constexpr size_t kWorthALaunch = size_t{1} << 20;

struct Push {
  uint32_t n;
  uint32_t from_first, to_first;
};

// The tensor's bytes, from an offset that devices allow for operands.
struct Range {
  explicit Range(const Tensor& tensor) {
    constexpr size_t kAlignment = 256;
    const auto start = static_cast<size_t>(tensor.data - tensor.buffer->base());
    first = start % kAlignment;
    operand = {.buffer = tensor.buffer, .offset = start - first, .size = first + tensor.size()};
  }
  Operand operand;
  size_t first;
};

}  // namespace

bool copy_by_shader(Stream& s, const Tensor& dst, const Tensor& src) {
  const size_t bytes = src.size();
  if (bytes < kWorthALaunch || bytes % kPiece != 0) return false;
  const Range from(src), to(dst);
  if (from.first % kPiece != 0 || to.first % kPiece != 0) return false;
  if (std::max(from.operand.size, to.operand.size) > limits_of(s).max_storage_range) return false;
  const Push push{static_cast<uint32_t>(bytes / kPiece), static_cast<uint32_t>(from.first / kPiece),
                  static_cast<uint32_t>(to.first / kPiece)};
  dispatch(s, "copy", {}, {from.operand, to.operand}, push, groups_for(push.n));
  return true;
}

}  // namespace parlance::vulkan
