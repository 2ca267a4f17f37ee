#include "quant/block_format.h"

#include <array>

#include "quant/block_rows.h"
#include "quant/float_rows.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"

namespace parlance {

namespace {

template <class Block>
constexpr BlockFormat rows_of() {
  return {decode_row<Block>, encode_row<Block>};
}

constexpr std::array<BlockFormat, kDTypeCount> make_table() {
  std::array<BlockFormat, kDTypeCount> table{};
  const auto set = [&table](DType dtype, BlockFormat format) { table[static_cast<size_t>(dtype)] = format; };
  set(DType::f32, {decode_row_f32, encode_row_f32});
  set(DType::f16, {decode_row_f16, encode_row_f16});
  set(DType::bf16, {decode_row_bf16, encode_row_bf16});
  set(DType::q8_0, rows_of<BlockQ8_0>());
  set(DType::q4_0, rows_of<BlockQ4_0>());
  set(DType::q4_1, rows_of<BlockQ4_1>());
  set(DType::q5_0, rows_of<BlockQ5_0>());
  set(DType::q5_1, rows_of<BlockQ5_1>());
  set(DType::q2_k, rows_of<BlockQ2K>());
  set(DType::q3_k, rows_of<BlockQ3K>());
  set(DType::q4_k, rows_of<BlockQ4K>());
  set(DType::q5_k, rows_of<BlockQ5K>());
  set(DType::q6_k, rows_of<BlockQ6K>());
  set(DType::iq4_nl, rows_of<BlockIq4Nl>());
  set(DType::iq4_xs, rows_of<BlockIq4Xs>());
  return table;
}

constexpr std::array<BlockFormat, kDTypeCount> kBlockFormats = make_table();

}  // namespace

const BlockFormat& block_format(DType dtype) {
  return kBlockFormats[static_cast<size_t>(dtype)];
}

}  // namespace parlance
