// Products that are split along n_in, so that few tiles keep all multiprocessors busy.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kFewestSteps = 2;  // of a part: fewer are not worth the sums that they leave

__global__ void add_part_sums(const __grid_constant__ Products p, const float* sums, int n_parts) {
  wait_for_previous();
  let_next_start();
  for_each_element(p.n_sums, [&](int64_t i) {
    int o = 0;
    while (o + 1 < p.n_outputs && i >= p.outputs[o + 1].first_sum) ++o;
    const Output& output = p.outputs[o];
    const int64_t at = i - output.first_sum;
    float total = output.bias ? output.bias[at % output.n_out] : 0.0f;
    for (int part = 0; part < n_parts; ++part) total += sums[part * p.n_sums + i];
    output.out[at] = total;
  });
}

}  // namespace

Split split_steps(Stream& stream, const Products& products, int n_token_tiles, int n_steps,
                  size_t shared_bytes, float* sums) {
  const Gpu& gpu = gpu_of(stream);
  const auto n_at_once =
      gpu.n_multiprocessors * static_cast<int64_t>(gpu.shared_bytes_per_block / shared_bytes);
  const int64_t n_tiles = static_cast<int64_t>(n_token_tiles) * products.n_tiles;
  const int64_t most =
      std::min<int64_t>({n_at_once / n_tiles, n_steps / kFewestSteps, kMaxSplitSums / products.n_sums});
  const int steps_per_part = div_up(n_steps, static_cast<int>(std::max<int64_t>(most, 1)));
  const int n_parts = div_up(n_steps, steps_per_part);
  return {n_steps, n_parts, steps_per_part, n_parts > 1 ? sums : nullptr};
}

void add_parts(Stream& stream, const Products& products, const Split& split) {
  if (split.n_parts == 1) return;
  launch(stream, add_part_sums, shape_of_elements(products.n_sums), products,
         static_cast<const float*>(split.sums), split.n_parts);
}

}  // namespace parlance::cuda
