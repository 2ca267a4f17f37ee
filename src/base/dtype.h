// Element types of tensors. The numbers are the type ids of GGUF files (ggml), names and sizes as in the table
// of dtype.cpp, the one home of these facts. What a type's bytes mean is in quant/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace parlance {

enum class DType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q8_1 = 9,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  q8_k = 15,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
};

inline constexpr size_t kDTypeCount = 42;  // ids are below this; some are unassigned

struct DTypeTraits {
  std::string_view name;  // canonical, lower case: "q4_k"; empty for an unassigned id
  uint32_t block_elements;
  uint32_t block_bytes;
};

// Traits of an assigned type.
const DTypeTraits& traits(DType dtype);

// The type with this GGUF id, or nothing when the id is unassigned.
std::optional<DType> dtype_from_id(uint32_t id);

// The type with this canonical name, in any case; nothing when there is none.
std::optional<DType> dtype_from_name(std::string_view name);

inline std::string_view name_of(DType dtype) { return traits(dtype).name; }

// Bytes of a row of n elements; n is a multiple of the block.
inline size_t row_bytes(DType dtype, int64_t n) {
  const DTypeTraits& t = traits(dtype);
  return static_cast<size_t>(n) / t.block_elements * t.block_bytes;
}

}  // namespace parlance
