// Facts of the GGUF v3 container that reader and writer share.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace parlance {

enum class GgufType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

inline constexpr uint32_t kGgufTypeCount = 13;
inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr uint32_t kGgufVersion = 3;
inline constexpr uint32_t kGgufDefaultAlignment = 32;
inline constexpr uint32_t kGgufMaxDims = 4;
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";  // u32
inline constexpr uint64_t kGgufMaxKeyBytes = 65535;

// The format's specification has tensor names of at most 64 bytes, and readers with a fixed buffer refuse
// longer ones. Published speech models carry names of 71 bytes, so the limit here only keeps indexes and
// messages sane.
inline constexpr uint64_t kGgufMaxTensorNameBytes = 1024;

// From the alignment of an f64 to what moves the data section by no more than a megabyte.
inline constexpr uint32_t kGgufMinAlignment = 8;
inline constexpr uint32_t kGgufMaxAlignment = 1u << 20;

constexpr bool is_gguf_alignment(uint32_t alignment) {
  return std::has_single_bit(alignment) && alignment >= kGgufMinAlignment && alignment <= kGgufMaxAlignment;
}

std::string_view name_of(GgufType type);    // "u32", "string", "array"
uint32_t gguf_scalar_bytes(GgufType type);  // 0 for string and array

}  // namespace parlance
