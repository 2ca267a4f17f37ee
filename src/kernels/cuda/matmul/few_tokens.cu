// Rounds a few tokens to bytes: threads have a quad each, blocks chunks of a token, of all of which they add
// up the squares where it is normalised.
#include "kernels/cuda/matmul/few_tokens.cuh"

#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/row_norm.cuh"
#include "kernels/cuda/matmul/run_codes.cuh"
#include "kernels/cuda/matmul/run_sums.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

// Where one of them goes.
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

// Few tokens go to many blocks, a thread of which has little to do. Of more, such blocks would take
// multiprocessors from those that bring weights.
constexpr int64_t kSpreadTokens = 16;
constexpr int kFewThreads = kLaneQuads, kManyThreads = 1024;

// Block (token, chunk of as many quads as it has threads).
__global__ void __launch_bounds__(kManyThreads)
    round_tokens(const float* x, const float* norm, float eps, const FewTokens tokens) {
  __shared__ float partial[kMostRowLanes / 32];
  let_next_start();
  const int token = blockIdx.x, n = tokens.n_in;
  const int quad = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  const bool has_quad = quad < n / kQuad;
  float4 weights = {}, values = {};
  if (norm && has_quad) weights = reinterpret_cast<const float4*>(norm)[quad];
  wait_for_previous();
  const float* const row = x + static_cast<int64_t>(token) * n;
  if (has_quad) values = reinterpret_cast<const float4*>(row)[quad];
  if (norm) {
    leave_squares(row, n, partial);
    __syncthreads();
    values = normalised(values, scale_of_squares(partial, n, eps), weights);
  }
  if (has_quad) StoredToken{tokens, token}.store(quad, values);
}

}  // namespace

FewTokens round_few(Stream& stream, const Tensor& x, const Tensor& norm, float eps, int columns) {
  const auto n_in = static_cast<int>(x.ne[0]), n_tokens = static_cast<int>(x.n_rows());
  const FewTokens tokens{reinterpret_cast<uint8_t*>(scratch_of(stream)), {columns}, n_in, n_tokens};
  const int n_quads = n_in / kQuad, most = n_tokens <= kSpreadTokens ? kFewThreads : kManyThreads;
  const int n_threads = std::clamp(n_quads, kFewThreads, most);  // of whole warps, as units are
  launch(stream, round_tokens,
         {.grid = dim3(static_cast<unsigned>(n_tokens), static_cast<unsigned>(div_up(n_quads, n_threads))),
          .block = dim3(static_cast<unsigned>(n_threads)),
          .takes_most_shared = true},
         x.as<const float>(), norm.as<const float>(), eps, tokens);
  return tokens;
}

}  // namespace parlance::cuda
