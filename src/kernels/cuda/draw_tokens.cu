// draw_tokens on CUDA: a block for each row, a thread for each logit that is told. Its code is short, since
// it is not at hand when it runs.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kThreads = kMostTopLogits, kWarps = kThreads / 32;

// Of the values of all threads up to this one's, and of all.
struct Sums {
  float here, all;
};
__device__ Sums add_up(float value, float (&of_warps)[kWarps]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll 1
  for (int distance = 1; distance < 32; distance *= 2) {
    const float before = __shfl_up_sync(kAllLanes, value, distance);
    if (lane >= distance) value += before;
  }
  if (lane == 31) of_warps[warp] = value;
  __syncthreads();
  float all = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    if (i == warp) value += all;
    all += of_warps[i];
  }
  return {value, all};
}

// Block `row`.
__global__ void __launch_bounds__(kThreads)
    draw_tokens(const int32_t* all, int n_told, const int32_t* draws, int64_t stride, int32_t* tokens) {
  __shared__ float of_warps[kWarps];
  let_next_start();
  wait_for_previous();
  const int64_t row = blockIdx.x;
  const int thread = threadIdx.x, k = n_told / 2 - 1;
  const int32_t* const told = all + row * n_told;
  const auto value = [&](int word) { return __int_as_float(draws[word * stride + row]); };
  const float temperature = value(0), top_p = value(1), min_p = value(2), random = value(3);
  const int top_k = draws[4 * stride + row];
  const bool has_one = n_told == 1 || told[0] < 0;
  int drawn = has_one ? 0 : 2;
  if (!has_one && temperature > 0) {
    // First the tokens that are left, then the one among them.
    int n = top_k > 0 ? min(top_k, k) : k;
    const float below = __int_as_float(told[2 + k + min(thread, n - 1)]) - __int_as_float(told[2 + k]);
    float sharpness = 1;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      const float weight = thread < n ? __expf(below * sharpness) : 0;
      const Sums sums = add_up(weight, of_warps);
      const bool is_left =
          thread < n && weight >= min_p && (top_p >= 1 || sums.here - weight < top_p * sums.all);
      const bool is_before = thread < n - 1 && !(sums.here > random * sums.all);
      const int count = __syncthreads_count(pass == 0 ? is_left || thread == 0 : is_before);
      if (pass == 0) n = count;
      drawn = 2 + count;
      sharpness = 1 / temperature;
    }
  }
  if (thread == 0) tokens[row] = max(told[drawn], 0);
}

void run_draw_tokens(Stream& stream, const DrawTokensArgs& args) {
  launch(stream, draw_tokens,
         {.grid = dim3(static_cast<unsigned>(args.told.n_rows())), .block = dim3(kThreads)},
         args.told.as<const int32_t>(), static_cast<int>(args.told.ne[0]), args.draws.as<const int32_t>(),
         args.draws.ne[0], args.tokens.as<int32_t>());
}

}  // namespace

void fill_draw_tokens(OpTable& table) {
  table.draw_tokens = {run_draw_tokens};
}

}  // namespace parlance::cuda
