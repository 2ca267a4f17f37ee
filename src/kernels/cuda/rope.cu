// rope on CUDA: (a, b) -> (a cos - b sin, a sin + b cos), one thread for each pair.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/rotate.cuh"

namespace parlance::cuda {

namespace {

__global__ void rotate_pairs(float* x, const float* angles, int64_t head_dim, int64_t n_head, int64_t n_pairs,
                             RopeStyle style, int64_t n) {
  let_next_start();
  wait_for_previous();
  for_each_element(n, [&](int64_t i) {
    const int64_t pair = i % n_pairs;
    const int64_t row = i / n_pairs;  // of all heads of all tokens
    const float* cosines = angles + row / n_head * 2 * n_pairs;
    const float cosine = cosines[pair];
    const float sine = cosines[n_pairs + pair];
    const bool is_halves = style == RopeStyle::halves;
    float* first = x + row * head_dim + (is_halves ? pair : 2 * pair);
    float* second = first + (is_halves ? n_pairs : 1);
    const float2 turned = rotated(*first, *second, cosine, sine);
    *first = turned.x;
    *second = turned.y;
  });
}

void run_rope(Stream& stream, const RopeArgs& args) {
  const int64_t n_pairs = args.angles.ne[0];
  const int64_t n_head = args.x.ne[1];
  const int64_t n = n_pairs * n_head * args.x.ne[2];
  if (n == 0) return;
  launch(stream, rotate_pairs, shape_of_elements(n), args.x.as<float>(), args.angles.as<const float>(),
         args.x.ne[0], n_head, n_pairs, args.style, n);
}

}  // namespace

void fill_rope(OpTable& table) {
  table.rope = {run_rope};
}

}  // namespace parlance::cuda
