// split_gate on the CPU.
#include <algorithm>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

void run_split_gate(Stream& stream, const SplitGateArgs& args) {
  const int64_t n = args.q.ne[0];
  const auto* x = args.x.as<const float>();
  auto* q = args.q.as<float>();
  auto* gate = args.gate.as<float>();
  parallel_rows(pool_of(stream), args.q.n_rows(), 2 * n, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      std::copy_n(x + 2 * row * n, n, q + row * n);
      std::copy_n(x + (2 * row + 1) * n, n, gate + row * n);
    }
  });
}

}  // namespace

void fill_split_gate(OpTable& table, Isa) {
  table.split_gate = {run_split_gate};
}

}  // namespace parlance
