// get_rows on the CPU: each row is decoded by its format's own definition.
#include <cassert>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "quant/block_format.h"

namespace parlance {

namespace {

void run_get_rows(Stream& stream, const GetRowsArgs& args) {
  const auto decode_row = block_format(args.table.dtype).decode_row;
  const int64_t n = args.table.ne[0];
  const auto* rows = args.rows.as<const int32_t>();
  auto* out = args.out.as<float>();
  parallel_rows(pool_of(stream), args.rows.n_elements(), n, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      assert(rows[i] >= 0 && rows[i] < args.table.n_rows());
      decode_row(args.table.row(rows[i]), out + i * n, n);
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
