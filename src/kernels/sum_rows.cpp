#include "kernels/sum_rows.h"

#include <cassert>

#include "kernels/ops.h"
#include "kernels/submit.h"

namespace parlance {

Tensor sum_rows(Stream& s, const Tensor& table, const Tensor& rows) {
  assert(rows.dtype == DType::i32 && rows.ne[1] > 0);
  const auto* const summer = dynamic_cast<const SumsRows*>(&s.device());
  if (!summer) {
    const Tensor sum = get_rows(s, table, rows.rows(0, 1));
    for (int64_t i = 1; i < rows.ne[1]; ++i) {
      const Frame frame(s);
      add(s, sum, get_rows(s, table, rows.rows(i, 1)));
    }
    return sum;
  }
  const Tensor out = s.workspace().allocate(DType::f32, table.ne[0], rows.ne[0]);
  submit(s, summer->sum_rows(table.dtype), SumRowsArgs{table, rows, out},
         s.plan() ? fmt::format("sum_rows {}", name_of(table.dtype)) : "", table.name);
  return out;
}

}  // namespace parlance
