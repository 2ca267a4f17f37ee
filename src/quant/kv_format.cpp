#include "quant/kv_format.h"

#include <array>
#include <cassert>

#include "quant/block_rows.h"
#include "quant/float_rows.h"
#include "quant/q8_0.h"

namespace parlance {

namespace {

// In the order of KvFormat.
constexpr std::array<KvFormatTraits, kKvFormatCount> kTable = {{
    {"f32", 1, 4, encode_row_f32, decode_row_f32},
    {"f16", 1, 2, encode_row_f16, decode_row_f16},
    {"bf16", 1, 2, encode_row_bf16, decode_row_bf16},
    {"q8_0", BlockQ8_0::kElements, sizeof(BlockQ8_0), encode_row<BlockQ8_0>, decode_row<BlockQ8_0>},
}};

}  // namespace

const KvFormatTraits& traits(KvFormat format) {
  assert(static_cast<size_t>(format) < kKvFormatCount);
  return kTable[static_cast<size_t>(format)];
}

std::optional<KvFormat> kv_format_from_name(std::string_view name) {
  for (size_t i = 0; i < kKvFormatCount; ++i) {
    if (kTable[i].name == name) return static_cast<KvFormat>(i);
  }
  return std::nullopt;
}

std::string kv_format_names() {
  std::string names;
  for (const KvFormatTraits& format : kTable) {
    if (!names.empty()) names += ", ";
    names += format.name;
  }
  return names;
}

}  // namespace parlance
