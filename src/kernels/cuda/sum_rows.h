// The cells of sum_rows(), see SumsRows.
#pragma once

#include "kernels/sum_rows.h"

namespace parlance::cuda {

const Cell<SumRowsArgs>& sum_rows(DType table);

}  // namespace parlance::cuda
