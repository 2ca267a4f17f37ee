#include "base/dtype.h"

#include <array>
#include <cassert>

#include "base/ascii.h"

namespace parlance {

namespace {

constexpr std::array<DTypeTraits, kDTypeCount> make_table() {
  std::array<DTypeTraits, kDTypeCount> table{};
  const auto set = [&table](DType type, std::string_view name, uint32_t elements, uint32_t bytes) {
    table[static_cast<size_t>(type)] = {name, elements, bytes};
  };
  set(DType::f32, "f32", 1, 4);
  set(DType::f16, "f16", 1, 2);
  set(DType::q4_0, "q4_0", 32, 18);
  set(DType::q4_1, "q4_1", 32, 20);
  set(DType::q5_0, "q5_0", 32, 22);
  set(DType::q5_1, "q5_1", 32, 24);
  set(DType::q8_0, "q8_0", 32, 34);
  set(DType::q8_1, "q8_1", 32, 36);
  set(DType::q2_k, "q2_k", 256, 84);
  set(DType::q3_k, "q3_k", 256, 110);
  set(DType::q4_k, "q4_k", 256, 144);
  set(DType::q5_k, "q5_k", 256, 176);
  set(DType::q6_k, "q6_k", 256, 210);
  set(DType::q8_k, "q8_k", 256, 292);
  set(DType::iq2_xxs, "iq2_xxs", 256, 66);
  set(DType::iq2_xs, "iq2_xs", 256, 74);
  set(DType::iq3_xxs, "iq3_xxs", 256, 98);
  set(DType::iq1_s, "iq1_s", 256, 50);
  set(DType::iq4_nl, "iq4_nl", 32, 18);
  set(DType::iq3_s, "iq3_s", 256, 110);
  set(DType::iq2_s, "iq2_s", 256, 82);
  set(DType::iq4_xs, "iq4_xs", 256, 136);
  set(DType::i8, "i8", 1, 1);
  set(DType::i16, "i16", 1, 2);
  set(DType::i32, "i32", 1, 4);
  set(DType::i64, "i64", 1, 8);
  set(DType::f64, "f64", 1, 8);
  set(DType::iq1_m, "iq1_m", 256, 56);
  set(DType::bf16, "bf16", 1, 2);
  set(DType::tq1_0, "tq1_0", 256, 54);
  set(DType::tq2_0, "tq2_0", 256, 66);
  set(DType::mxfp4, "mxfp4", 32, 17);
  set(DType::nvfp4, "nvfp4", 64, 36);
  set(DType::q1_0, "q1_0", 128, 18);
  return table;
}

constexpr std::array<DTypeTraits, kDTypeCount> kTable = make_table();

}  // namespace

const DTypeTraits& traits(DType dtype) {
  const auto id = static_cast<size_t>(dtype);
  assert(id < kDTypeCount && !kTable[id].name.empty());
  return kTable[id];
}

std::optional<DType> dtype_from_id(uint32_t id) {
  if (id >= kDTypeCount || kTable[id].name.empty()) return std::nullopt;
  return static_cast<DType>(id);
}

std::optional<DType> dtype_from_name(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (size_t id = 0; id < kDTypeCount; ++id) {
    if (ascii::are_equal(kTable[id].name, name)) return static_cast<DType>(id);
  }
  return std::nullopt;
}

}  // namespace parlance
