// rope_angles and sectioned_rope_angles on CUDA: once per step, so in double precision, as on the CPU.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

// What the pairs turn with: position section[pair] of a token's n_pos, or its only one where there are no
// sections.
struct Turns {
  const int32_t* pos;      // (n_pos, n_tokens)
  const int32_t* section;  // (n_pairs), or null
  const float* inverse;    // (n_pairs, 2)
  int64_t n_pos;
  int n_pairs;
};

__global__ void angles_of_pairs(const Turns turns, double magnitude, float* out, int64_t n_tokens) {
  const int n_pairs = turns.n_pairs;
  let_next_start();
  wait_for_previous();
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t token = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; token < n_tokens;
       token += stride) {
    for (int pair = threadIdx.x; pair < n_pairs; pair += blockDim.x) {
      const int32_t pos = turns.pos[token * turns.n_pos + (turns.section ? turns.section[pair] : 0)];
      const double frequency =
          static_cast<double>(turns.inverse[pair]) + static_cast<double>(turns.inverse[n_pairs + pair]);
      double sine, cosine;
      sincos(pos * frequency, &sine, &cosine);
      float* cosines = out + token * 2 * n_pairs;
      cosines[pair] = static_cast<float>(cosine * magnitude);
      cosines[n_pairs + pair] = static_cast<float>(sine * magnitude);
    }
  }
}

void launch_angles(Stream& stream, const Turns& turns, float magnitude, const Tensor& out) {
  if (out.n_elements() == 0) return;
  const int64_t n_tokens = out.n_elements() / 2 / turns.n_pairs;
  launch(stream, angles_of_pairs, shape_of_rows(turns.n_pairs, n_tokens), turns,
         static_cast<double>(magnitude), out.as<float>(), n_tokens);
}

void run_rope_angles(Stream& stream, const RopeAnglesArgs& args) {
  launch_angles(stream,
                {args.pos.as<const int32_t>(), nullptr, args.inverse.as<const float>(), 1,
                 static_cast<int>(args.inverse.ne[0])},
                args.magnitude, args.out);
}

void run_sectioned(Stream& stream, const SectionedRopeAnglesArgs& args) {
  launch_angles(stream,
                {args.pos.as<const int32_t>(), args.section.as<const int32_t>(),
                 args.inverse.as<const float>(), args.pos.ne[0], static_cast<int>(args.inverse.ne[0])},
                args.magnitude, args.out);
}

}  // namespace

void fill_rope_angles(OpTable& table) {
  table.rope_angles = {run_rope_angles};
  table.sectioned_rope_angles = {run_sectioned};
}

}  // namespace parlance::cuda
