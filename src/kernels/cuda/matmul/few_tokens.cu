// Rounds a few tokens to bytes, one block for each.
#include "kernels/cuda/matmul/few_tokens.cuh"

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
    const Run of_token(*this, quad / kRunLanes);
    reinterpret_cast<uint32_t*>(of_token.codes)[quad % kRunLanes] = rounded.codes;
    if (quad % kRunLanes == 0) of_token.store_scale(rounded.step, rounded.half_sum, second_sum);
  }
  // Half `half` of the token's runs, counted through all of them, by this lane; its neighbour has the other.
  // `lanes`: those of the warp that have one.
  __device__ void store(int half, const float (&values)[kHalfRunValues], unsigned lanes) const {
    const HalfRun rounded = half_of_run(values, lanes);
    const Run of_token(*this, half / 2);
    reinterpret_cast<uint4*>(of_token.codes)[half % 2] =
        make_uint4(rounded.codes[0], rounded.codes[1], rounded.codes[2], rounded.codes[3]);
    if (half % 2 == 0) of_token.store_scale(rounded.step, rounded.sum, rounded.other_sum);
  }

 private:
  // Where one of them lies.
  struct Run {
    uint8_t* codes;
    float2 *scale, *sums;

    __device__ Run(const StoredToken& stored, int run) {
      const UnitLayout& layout = stored.tokens.layout;
      uint8_t* const unit = stored.tokens.unit(run / kUnitRuns);
      const int column = stored.token / kColumnTokens, of_column = stored.token % kColumnTokens;
      const int of_unit = run % kUnitRuns, at = of_unit * kColumnTokens + of_column;
      codes = unit + layout.codes(column) + of_column * UnitLayout::kCodeStride + of_unit * kRunValues;
      scale = reinterpret_cast<float2*>(unit + layout.scales(column)) + at;
      sums = reinterpret_cast<float2*>(unit + layout.sums(column)) + at;
    }
    __device__ void store_scale(float step, int first_sum, int second_sum) const {
      *scale = make_float2(step, kIntegerZero + static_cast<float>(Q4_0::kOffset * (first_sum + second_sum)));
      *sums = make_float2(step * static_cast<float>(first_sum), step * static_cast<float>(second_sum));
    }
  };
};

// Block (token).
__global__ void __launch_bounds__(kMostThreads)
    round_tokens(const float* x, const float* norm, float eps, const FewTokens tokens) {
  __shared__ float partial[kMostRowLanes / 32];
  let_next_start();
  const int token = blockIdx.x;
  round_token(
      StoredToken{tokens, token}, x + static_cast<int64_t>(token) * tokens.n_in, tokens.n_in, norm, eps,
      partial, [] { wait_for_previous(); }, [] {});
}

}  // namespace

FewTokens round_few(Stream& stream, const Tensor& x, const Tensor& norm, float eps, int columns) {
  const auto n_in = static_cast<int>(x.ne[0]), n_tokens = static_cast<int>(x.n_rows());
  const FewTokens tokens{reinterpret_cast<uint8_t*>(scratch_of(stream)), {columns}, n_in, n_tokens};
  const int n_threads = std::clamp<int>(align_up<int>(n_in / kHalfRunValues, 32), kLaneQuads, kMostThreads);
  launch(stream, round_tokens,
         {.grid = dim3(static_cast<unsigned>(n_tokens)), .block = dim3(static_cast<unsigned>(n_threads))},
         x.as<const float>(), norm.as<const float>(), eps, tokens);
  return tokens;
}

}  // namespace parlance::cuda
