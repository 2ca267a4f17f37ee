// Formats that a KV cache can store keys and values in. Each is one row of the table in kv_format.cpp; the
// bytes of a block are defined by the format's own file in this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quant/kv_transform.h"

namespace parlance {

enum class KvFormat : uint8_t {
  f32,
  f16,
  bf16,
  q8_0,
  q4_0,
  tbq3_0,
  tbq4_0,
  tbq3_tcq,
  qjl1_256,
  q4_polar,
  q4_polar_residual,
};

inline constexpr size_t kKvFormatCount = 11;
inline constexpr size_t kPlainKvFormats = 4;  // up to q8_0: those that every device has

// How codes are chosen. The bytes mean the same either way.
enum class KvEncoder : uint8_t {
  compatible,  // as elizaOS's llama.cpp does, byte for byte
  search,      // with less error, where a format has such an encoder
};

struct KvFormatTraits {
  std::string_view name;  // as given to --cache-type-k and --cache-type-v
  uint32_t block_elements;
  uint32_t block_bytes;
  KvTransform transform;  // between head vectors and stored values; none: the cache may add a rotation
  // Scalar definitions; n is a multiple of the block.
  void (*encode_row)(const float* x, std::byte* out, int64_t n);        // KvEncoder::compatible
  void (*search_row)(const float* x, std::byte* out, int64_t n);        // KvEncoder::search
  void (*decode_stored_row)(const std::byte* in, float* y, int64_t n);  // y [stored_elements(transform, n)]
};

const KvFormatTraits& traits(KvFormat format);
std::optional<KvFormat> kv_format_from_name(std::string_view name);
inline std::string_view name_of(KvFormat format) {
  return traits(format).name;
}

// Every name, "f32, f16, …", for help texts and errors.
std::string kv_format_names();

// Bytes of one head vector of head_dim values; head_dim is a multiple of the block.
inline size_t kv_row_bytes(KvFormat format, int64_t head_dim) {
  const KvFormatTraits& t = traits(format);
  return static_cast<size_t>(head_dim) / t.block_elements * t.block_bytes;
}

// How one side of a cache, keys or values, is kept.
struct KvCoding {
  KvFormat format = KvFormat::f16;
  KvEncoder encoder = KvEncoder::search;
  bool rotated = false;       // by KvTransform::hadamard; only formats without a transform of their own are
  bool least_squares = true;  // how sketches are read, see sketch.h

  KvTransform transform() const;
  // Of head vectors of n values; the scalar definition. `x` is the head vector, not its rotation.
  void encode(const float* x, std::byte* out, int64_t n) const;
  void decode(const std::byte* in, float* x, int64_t n) const;

  bool operator==(const KvCoding&) const = default;
};

}  // namespace parlance
