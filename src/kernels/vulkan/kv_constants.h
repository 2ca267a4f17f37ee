// Constants of the cache formats for shaders, taken from their one home in quant/.
#pragma once

#include "kernels/vulkan/runtime/dispatch.h"
#include "quant/kv_format.h"

namespace parlance::vulkan {

// Levels, boundaries and signs, as kv_formats.glsl says where.
Operand kv_constants(Stream& s);

// The projection of qjl1_256; nothing for other formats, which do not read it.
Operand projection_of(Stream& s, KvFormat format);

// The matrix that a transform reads sketches with; nothing for other transforms.
Operand sketch_of(Stream& s, KvTransform transform);

// How KvTransform::hadamard rotates head vectors of n values.
struct Rotation {
  explicit Rotation(int64_t n);
  uint32_t block;
  float root;  // what is multiplied with behind the butterflies
};

}  // namespace parlance::vulkan
