// get_rows on the CPU: each row is decoded by its format's own definition.
#include <array>
#include <cassert>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/imported_weights.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "quant/block_format.h"

namespace parlance {

namespace {

// A row of a table whose file is not to be read any more.
void decode_packed_row(const std::byte* strips, const Tensor& table, int64_t row, float* out) {
  constexpr size_t kMostBytes = 256;
  std::array<std::byte, kMostBytes> block;
  const int64_t n = table.ne[0], n_block = traits(table.dtype).block_elements;
  assert(traits(table.dtype).block_bytes <= kMostBytes);
  const auto decode_row = block_format(table.dtype).decode_row;
  for (int64_t i = 0; i < n; i += n_block) {
    PackedWeight::copy_block(strips, table.dtype, n, row, i / n_block, block.data());
    decode_row(block.data(), out + i, n_block);
  }
}

void run_get_rows(Stream& stream, const GetRowsArgs& args) {
  const auto decode_row = block_format(args.table.dtype).decode_row;
  const int64_t n = args.table.ne[0];
  const std::byte* const strips = strips_of(args.table);
  const auto* rows = args.rows.as<const int32_t>();
  auto* out = args.out.as<float>();
  parallel_rows(pool_of(stream), args.rows.n_elements(), n, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      assert(rows[i] >= 0 && rows[i] < args.table.n_rows());
      if (strips) {
        decode_packed_row(strips, args.table, rows[i], out + i * n);
      } else {
        decode_row(args.table.row(rows[i]), out + i * n, n);
      }
    }
  });
}

}  // namespace

void fill_get_rows(OpTable& table, Isa) {
  for (size_t id = 0; id < kDTypeCount; ++id) {
    const auto dtype = dtype_from_id(static_cast<uint32_t>(id));
    if (dtype && block_format(*dtype).decode_row) table.get_rows[id] = {run_get_rows};
  }
}

}  // namespace parlance
