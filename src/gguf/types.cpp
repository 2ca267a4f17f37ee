#include "gguf/types.h"

#include <array>

namespace parlance {

namespace {

struct TypeTraits {
  std::string_view name;
  uint32_t bytes;
};

// By type id.
constexpr std::array<TypeTraits, kGgufTypeCount> kTypes{{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

}  // namespace

std::string_view name_of(GgufType type) {
  return kTypes[static_cast<uint32_t>(type)].name;
}

uint32_t gguf_scalar_bytes(GgufType type) {
  return kTypes[static_cast<uint32_t>(type)].bytes;
}

}  // namespace parlance
