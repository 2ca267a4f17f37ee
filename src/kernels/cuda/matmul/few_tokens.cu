// Rounds a few tokens to bytes, one block for each.
#include "kernels/cuda/matmul/few_tokens.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/rounded_token.cuh"
#include "kernels/cuda/matmul/run_sums.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kMostThreads = 1024;

// One of them, as round_token() leaves it.
struct StoredToken {
  const FewTokens& tokens;
  int token;

  // Quad `quad` of the token; by whole warps, of which each lane has one, eight a run.
  __device__ void store(int quad, const float4& values) const {
    const QuantisedRun rounded = quantised_run(values);
    const int second_sum = __shfl_down_sync(kAllLanes, rounded.half_sum, kRunLanes / 2);
    reinterpret_cast<uint32_t*>(codes())[quad] = rounded.codes;
    if (quad % kRunLanes == 0) store_scale(quad / kRunLanes, rounded.step, rounded.half_sum, second_sum);
  }
  // Half `half` of the token's runs, counted through all of them, by this lane; its neighbour has the other.
  __device__ void store(int half, const float (&values)[kHalfRunValues]) const {
    const HalfRun rounded = half_of_run(values);
    reinterpret_cast<uint4*>(codes())[half] =
        make_uint4(rounded.codes[0], rounded.codes[1], rounded.codes[2], rounded.codes[3]);
    if (half % 2 == 0) store_scale(half / 2, rounded.step, rounded.sum, rounded.other_sum);
  }

 private:
  __device__ int8_t* codes() const { return tokens.codes + static_cast<int64_t>(token) * tokens.n_in; }
  __device__ void store_scale(int run, float step, int first_sum, int second_sum) const {
    const int at = run * tokens.room + token;
    tokens.scales[at] =
        make_float2(step, kIntegerZero + static_cast<float>(Q4_0::kOffset * (first_sum + second_sum)));
    tokens.sums[at] =
        make_float2(step * static_cast<float>(first_sum), step * static_cast<float>(second_sum));
  }
};

// Block (token).
__global__ void __launch_bounds__(kMostThreads)
    round_tokens(const float* x, const float* norm, float eps, const FewTokens tokens) {
  __shared__ float partial[kMostRowLanes / 32];
  let_next_start();
  const int token = blockIdx.x;
  round_token(StoredToken{tokens, token}, x + static_cast<int64_t>(token) * tokens.n_in, tokens.n_in, norm,
              eps, partial, [] { wait_for_previous(); });
}

}  // namespace

FewTokens round_few(Stream& stream, const Tensor& x, const Tensor& norm, float eps, int room) {
  const auto n_in = static_cast<int>(x.ne[0]), n_tokens = static_cast<int>(x.n_rows());
  const auto n_scales = static_cast<size_t>(n_in / kRunValues * room);
  std::byte* const scratch = scratch_of(stream);
  auto* const scales =
      reinterpret_cast<float2*>(scratch + static_cast<size_t>(n_in) * static_cast<size_t>(room));
  const FewTokens tokens{reinterpret_cast<int8_t*>(scratch), scales, scales + n_scales, n_in, n_tokens, room};
  const int n_threads = std::clamp<int>(align_up<int>(n_in / kHalfRunValues, 32), kLaneQuads, kMostThreads);
  launch(stream, round_tokens,
         {.grid = dim3(static_cast<unsigned>(n_tokens)), .block = dim3(static_cast<unsigned>(n_threads))},
         x.as<const float>(), norm.as<const float>(), eps, tokens);
  return tokens;
}

}  // namespace parlance::cuda
