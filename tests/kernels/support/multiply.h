// One product on a device, of tensors in host memory.
#pragma once

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/device.h"
#include "kernels/op_table.h"

namespace parlance::test {

// Rows [first, first + n) of x times a weight, with scratch memory as large as so many threads need.
inline std::vector<float> multiply(Device& device, int n_threads, const Linear& linear, const Tensor& x,
                                   int64_t first, int64_t n) {
  const auto stream = device.make_stream();
  std::vector<float> out(static_cast<size_t>(n * linear.weight.n_rows()), std::nanf(""));
  MatmulArgs args;
  args.x = x;
  args.x.ne[1] = n;
  args.x.data += static_cast<size_t>(first) * x.row_size();
  args.n_outputs = 1;
  args.w[0] = linear;
  args.out[0].ne = {linear.weight.n_rows(), n, 1, 1};
  args.out[0].data = reinterpret_cast<std::byte*>(out.data());
  const Cell<MatmulArgs>& cell = device.ops().matmul[static_cast<size_t>(linear.weight.dtype)];
  Plan plan;
  if (cell.scratch) plan.scratch_bytes = cell.scratch(args, n_threads);
  EXPECT_TRUE(stream->reserve(plan).has_value());
  cell.run(*stream, args);
  return out;
}

}  // namespace parlance::test
