// Products whose parts along n_in several blocks compute, so that few tiles keep all multiprocessors busy.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

__global__ void add_part_sums(const __grid_constant__ Products p, const float* sums, int n_parts,
                              const float* scales) {
  wait_for_previous();
  let_next_start();
  for_each_element(p.n_sums, [&](int64_t i) {
    int o = 0;
    while (o + 1 < p.n_outputs && i >= p.outputs[o + 1].first_sum) ++o;
    const Output& output = p.outputs[o];
    const int64_t at = i - output.first_sum;
    float total = 0;
#pragma unroll 8
    for (int part = 0; part < n_parts; ++part) total = add_part(total, sums[part * p.n_sums + i]);
    if (scales) total = __fmul_rn(total, scales[at / output.n_out]);
    output.out[at] = total + (output.bias ? output.bias[at % output.n_out] : 0.0f);
  });
}

}  // namespace

Split split_parts(Stream& stream, const Products& products, int n_token_tiles, const Parts& parts,
                  size_t shared_bytes, float* sums) {
  const Gpu& gpu = gpu_of(stream);
  const auto n_at_once =
      gpu.n_multiprocessors * static_cast<int64_t>(gpu.shared_bytes_per_block / shared_bytes);
  const int64_t n_tiles = static_cast<int64_t>(n_token_tiles) * products.n_tiles;
  const bool has_room = parts.n * products.n_sums <= kMaxPartSums;
  const auto most = static_cast<int>(has_room ? std::clamp<int64_t>(n_at_once / n_tiles, 1, parts.n) : 1);
  const int parts_per_block = div_up(parts.n, most);
  const int n_blocks = div_up(parts.n, parts_per_block);
  return {n_blocks, parts_per_block, n_blocks > 1 ? sums : nullptr};
}

void add_parts(Stream& stream, const Products& products, const Parts& parts, const Split& split,
               const float* scales) {
  if (!split.sums) return;
  launch(stream, add_part_sums, shape_of_elements(products.n_sums), products,
         static_cast<const float*>(split.sums), parts.n, scales);
}

}  // namespace parlance::cuda
