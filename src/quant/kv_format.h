// Formats that a KV cache can store keys and values in. Each is one row of the table in kv_format.cpp; the
// bytes of a block are defined by the format's own file in this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace parlance {

enum class KvFormat : uint8_t { f32, f16, bf16, q8_0 };

inline constexpr size_t kKvFormatCount = 4;

struct KvFormatTraits {
  std::string_view name;  // as given to --cache-type-k and --cache-type-v
  uint32_t block_elements;
  uint32_t block_bytes;
  void (*encode_row)(const float* x, std::byte* out, int64_t n);  // scalar definition
  void (*decode_row)(const std::byte* in, float* x, int64_t n);   // scalar definition
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

}  // namespace parlance
