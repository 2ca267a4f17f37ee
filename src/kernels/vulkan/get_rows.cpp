// get_rows on Vulkan: see get_rows.comp.
#include "kernels/vulkan/grid.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/weights.h"
#include "quant/block_format.h"

namespace parlance::vulkan {

namespace {

struct GetRowsPush {
  uint32_t table_at;
  uint32_t row_bytes;
  uint32_t rows_at;
  uint32_t out_at;
  uint32_t n;
  uint32_t n_out;
  uint32_t first_row;
  uint32_t n_rows;
};

void run_get_rows(Stream& s, const GetRowsArgs& args) {
  const DType dtype = args.table.dtype;
  const int64_t per_lane = traits(dtype).block_elements == 1 ? 1 : 32;
  const int64_t n_lanes = args.rows.n_elements() * (args.table.ne[0] / per_lane);
  if (n_lanes == 0) return;
  for_each_piece(s, args.table, [&](const WeightPiece& piece) {
    const GetRowsPush push{.table_at = piece.at,
                           .row_bytes = static_cast<uint32_t>(args.table.row_size()),
                           .rows_at = word_offset(args.rows),
                           .out_at = word_offset(args.out),
                           .n = static_cast<uint32_t>(args.table.ne[0]),
                           .n_out = static_cast<uint32_t>(args.rows.n_elements()),
                           .first_row = piece.first_row,
                           .n_rows = piece.n_rows};
    const std::array operands{piece.operand, piece.operand, operand_of(args.rows), operand_of(args.out)};
    dispatch(s, "get_rows", weight_constants(dtype, false), operands, std::as_bytes(std::span(&push, 1)),
             groups_for(n_lanes));
  });
}

}  // namespace

void fill_get_rows(OpTable& table) {
  for (uint32_t id = 0; id < kDTypeCount; ++id) {
    const auto dtype = dtype_from_id(id);
    if (dtype && block_format(*dtype).decode_row) table.get_rows[id] = {run_get_rows};
  }
}

}  // namespace parlance::vulkan
