// Facts of the GGUF v3 container that reader and writer share.
#pragma once

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

std::string_view name_of(GgufType type);      // "u32", "string", "array"
uint32_t gguf_scalar_bytes(GgufType type);    // 0 for string and array

}  // namespace parlance
