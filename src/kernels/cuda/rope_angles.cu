// rope_angles on CUDA: once per step, so in double precision, as on the CPU.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

__global__ void angles_of_pairs(const int32_t* pos, const float* inverse, double magnitude, float* out,
                                int64_t n_pairs, int64_t n) {
  wait_for_previous();
  let_next_start();
  for_each_element(n, [&](int64_t i) {
    const int64_t token = i / n_pairs;
    const int64_t pair = i % n_pairs;
    const double frequency =
        static_cast<double>(inverse[pair]) + static_cast<double>(inverse[n_pairs + pair]);
    double sine, cosine;
    sincos(pos[token] * frequency, &sine, &cosine);
    float* cosines = out + token * 2 * n_pairs;
    cosines[pair] = static_cast<float>(cosine * magnitude);
    cosines[n_pairs + pair] = static_cast<float>(sine * magnitude);
  });
}

void run_rope_angles(Stream& stream, const RopeAnglesArgs& args) {
  const int64_t n_pairs = args.inverse.ne[0];
  const int64_t n = n_pairs * args.pos.n_elements();
  if (n == 0) return;
  launch(stream, angles_of_pairs, shape_of_elements(n), args.pos.as<const int32_t>(),
         args.inverse.as<const float>(), static_cast<double>(args.magnitude), args.out.as<float>(), n_pairs,
         n);
}

}  // namespace

void fill_rope_angles(OpTable& table) {
  table.rope_angles = {run_rope_angles};
}

}  // namespace parlance::cuda
