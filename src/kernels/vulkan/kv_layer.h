// The pages of one layer as an operand: they may be a part of a buffer that is larger than what a shader can
// see.
#pragma once

#include "kernels/kv_view.h"
#include "kernels/vulkan/runtime/dispatch.h"

namespace parlance::vulkan {

struct KvLayer {
  Operand operand;
  uint32_t first_byte;  // of page 0 in the operand, which starts at a multiple of 256; a multiple of 4
};

inline KvLayer kv_layer(const KvView& kv) {
  constexpr size_t kAlignment = 256;
  const auto start = static_cast<size_t>(kv.pages - kv.buffer->base());
  const size_t first = start % kAlignment;
  return {{.buffer = kv.buffer, .offset = start - first, .size = first + kv.layer_bytes},
          static_cast<uint32_t>(first)};
}

}  // namespace parlance::vulkan
