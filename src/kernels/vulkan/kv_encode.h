// Keys or values in the bytes of a cache: what kv_encode.comp and kv_compress.comp are told.
#pragma once

#include <algorithm>

#include "kernels/vulkan/kv_constants.h"
#include "kernels/vulkan/kv_layer.h"

namespace parlance::vulkan {

inline uint32_t halves(size_t bytes) {
  return static_cast<uint32_t>(bytes / 2);
}

// One side of a cache.
struct KvSide {
  KvCoding coding;
  int64_t head_dim;
  size_t row_bytes;
  size_t start;  // of its first row, in a page
};

inline KvSide keys_of(const KvView& kv) {
  return {kv.k, kv.head_dim_k, kv.k_row_bytes, kv.k_offset(0)};
}
inline KvSide values_of(const KvView& kv) {
  return {kv.v, kv.head_dim_v, kv.v_row_bytes, kv.v_offset(0)};
}

// Whether head vectors are encoded as a whole, by a group each.
inline bool is_encoded_whole(const KvCoding& coding) {
  return coding.format > KvFormat::q8_0 || coding.transform() != KvTransform::none;
}

// The specialization constants of kv_encode.glsl.
inline std::array<uint32_t, 5> encoder_constants(const KvSide& side) {
  const KvFormat format = side.coding.format;
  const bool is_searched = side.coding.encoder == KvEncoder::search;
  const auto n_blocks = static_cast<uint32_t>(side.head_dim / 32);
  uint32_t room = 1;  // floats
  if (format == KvFormat::tbq3_tcq) room = 512;
  if (format == KvFormat::qjl1_256) room = 256;
  const bool tries = format == KvFormat::q4_0 || format == KvFormat::tbq3_0 || format == KvFormat::tbq4_0;
  if (tries && is_searched) room = 2 * 16 * n_blocks;
  return {static_cast<uint32_t>(format), static_cast<uint32_t>(side.head_dim), halves(side.row_bytes), room,
          is_searched ? 1u : 0u};
}

// Where no rotation is asked for, blocks are of one value.
inline Rotation rotation_of(const KvSide& side) {
  return Rotation(side.coding.transform() == KvTransform::hadamard ? side.head_dim : 1);
}

// The view whose pages new positions are written to.
inline const KvView& written_view(const KvView& kv) {
  return kv.exact ? *kv.exact : kv;
}

}  // namespace parlance::vulkan
