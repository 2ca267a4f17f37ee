// Sums of rows of a table, as of the embeddings of several codes.
#pragma once

#include "kernels/op_table.h"

namespace parlance {

class Stream;

// out[:, i] = table[:, rows[i, 0]] + table[:, rows[i, 1]] + …, added in this order.
struct SumRowsArgs {
  Tensor table;
  Tensor rows;  // i32 [n, n_summands]
  Tensor out;   // f32 [n_values, n]
};

// What a device is beside a Device that does so in one go.
class SumsRows {
 public:
  virtual ~SumsRows() = default;
  virtual const Cell<SumRowsArgs>& sum_rows(DType table) const = 0;
};

// By get_rows() and add() on other devices, with the same bits.
Tensor sum_rows(Stream& s, const Tensor& table, const Tensor& rows);

}  // namespace parlance
