// Activations rounded to what the products take, once for all weights of a call.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/half_few.h"
#include "kernels/cuda/matmul/half_many.h"
#include "kernels/cuda/matmul/half_part.cuh"
#include "kernels/cuda/matmul/products.h"
#include "kernels/cuda/matmul/row_norm.cuh"
#include "kernels/cuda/matmul/run_codes.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/matmul/wide_gemm.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/weights.cuh"

namespace parlance::cuda {

namespace {

// A thread rounds four values, eight threads a run, a block a chunk.
constexpr int kThreads = kChunkValues / kQuarter;
constexpr int kTokenTile = 128;  // the most tokens that a gemm block takes at once

// By the eight threads of a run.
__device__ QuantisedRun quantise(const float* x, int64_t n_in, int first, bool is_token) {
  return quantised_run(is_token && first < n_in ? *reinterpret_cast<const float4*>(x + first) : float4{});
}

// Block (token, chunk).
__global__ void __launch_bounds__(kThreads)
    quantise_rows_for_gemv(const float* x, int n_in, int n_tokens, GemvActivations out) {
  let_next_start();
  wait_for_previous();
  const int token = blockIdx.x, chunk = blockIdx.y;
  const int first = chunk * kChunkValues + kQuarter * static_cast<int>(threadIdx.x);
  const QuantisedRun run = quantise(x + static_cast<int64_t>(token) * n_in, n_in, first, token < n_tokens);
  const int run_in_chunk = threadIdx.x / 8, quarter = threadIdx.x % 8;
  const int64_t row_chunk = static_cast<int64_t>(token) * out.n_chunks + chunk;
  uint4* piece = out.codes + row_chunk * 2 * kChunkRuns + quarter / 4 * kChunkRuns + run_in_chunk;
  reinterpret_cast<uint32_t*>(piece)[quarter % 4] = run.codes;
  const int second_sum = __shfl_down_sync(kAllLanes, run.half_sum, 4);
  if (quarter == 0) {
    out.scales[row_chunk * kChunkRuns + run_in_chunk] = {run.step,
                                                         (run.half_sum & 0xffff) | second_sum << 16};
  }
}

__global__ void __launch_bounds__(kThreads)
    quantise_rows_for_gemm(const float* x, int n_in, int n_tokens, GemmActivations out) {
  let_next_start();
  wait_for_previous();
  const int token = blockIdx.x, chunk = blockIdx.y;
  const int first = chunk * kChunkValues + kQuarter * static_cast<int>(threadIdx.x);
  const QuantisedRun run = quantise(x + static_cast<int64_t>(token) * n_in, n_in, first, token < n_tokens);
  *reinterpret_cast<uint32_t*>(out.codes + static_cast<int64_t>(token) * out.row_values + first) = run.codes;
  const int second_sum = __shfl_down_sync(kAllLanes, run.half_sum, 4);
  if (threadIdx.x % 8 == 0) {
    const int64_t at = static_cast<int64_t>(first / kRunValues) * out.n_tokens + token;
    out.steps[at] = run.step;
    out.sums[at] = {run.step * static_cast<float>(run.half_sum), run.step * static_cast<float>(second_sum)};
  }
}

// By all warps of a block, one for each part.
__device__ float largest_of_parts(float scale, int part, int n_parts) {
  __shared__ float scales[kMostParts];
  if (threadIdx.x % 32 == 0) scales[part] = scale;
  __syncthreads();
  for (int of = 0; of < n_parts; ++of) scale = fmaxf(scale, scales[of]);
  return scale;
}

// Each part has a scale of its own, or all the largest of them.
template <class Half, bool kHasOrder>
__global__ void __launch_bounds__(32 * kMostParts)
    halve_rows(const float* x, int n_in, int n_tokens, HalfActivations out, Parts parts) {
  let_next_start();
  wait_for_previous();
  WarpPart<kHeldPieces> own(x, n_in, n_tokens, parts);
  own.values.load();
  float scale = own.values.template scale<Half>();
  if constexpr (!kHasOrder) scale = largest_of_parts(scale, own.part, parts.n);
  uint16_t* halves = out.halves + static_cast<int64_t>(own.token) * out.row_values + own.first;
  constexpr bool kHasSecond = kHasOrder || std::is_same_v<Half, __nv_bfloat16>;  // see half_gemm.cu
  own.values.template round<Half, false>(
      own.n_padded, scale, halves,
      kHasSecond ? halves + static_cast<int64_t>(out.n_tokens) * out.row_values : nullptr);
  if (threadIdx.x % 32 == 0 && (kHasOrder || own.part == 0))
    out.scales[static_cast<int64_t>(own.part) * out.n_tokens + own.token] = scale;
}

// Tokens as the kernels take them; does not fall when the batch grows.
int64_t padded_tokens(int64_t n_tokens) {
  if (n_tokens <= 2) return n_tokens;
  if (n_tokens <= 8) return n_tokens <= 4 ? 4 : 8;
  return n_tokens <= 32 ? 32 : n_tokens <= 64 ? 64 : align_up<int64_t>(n_tokens, kTokenTile);
}

// No fewer than a tile of gemm has.
int64_t gemm_tokens(int64_t n_tokens) {
  return std::max<int64_t>(n_tokens, 32);
}

int64_t n_chunks_of(int64_t n_in) {
  return div_up<int64_t>(n_in, kChunkValues);
}

size_t code_bytes(int64_t n_in, int64_t n_tokens) {
  return static_cast<size_t>(padded_tokens(n_tokens) * n_chunks_of(n_in) * kChunkValues);
}

dim3 grid_of(int64_t n_tokens, int64_t n_chunks) {
  return dim3(static_cast<unsigned>(padded_tokens(n_tokens)), static_cast<unsigned>(n_chunks));
}

size_t n_padded_runs(int64_t n_in, int64_t n_tokens) {
  return static_cast<size_t>(padded_tokens(n_tokens) * n_chunks_of(n_in) * kChunkRuns);
}

size_t activation_bytes(int64_t n_in, int64_t n_tokens) {
  constexpr size_t run_bytes = std::max(sizeof(RunScale), sizeof(float) + sizeof(float2));
  return code_bytes(n_in, n_tokens) + run_bytes * n_padded_runs(n_in, n_tokens);
}

}  // namespace

size_t quantised_scratch_bytes(int64_t n_in, int64_t n_tokens) {
  return activation_bytes(n_in, gemm_tokens(n_tokens)) + kMaxPartSums * sizeof(float);
}

GemvActivations quantise_for_gemv(Stream& stream, const Tensor& x) {
  const int64_t n_in = x.ne[0], n_tokens = x.n_rows(), n_chunks = n_chunks_of(n_in);
  std::byte* scratch = scratch_of(stream);
  const GemvActivations out{reinterpret_cast<uint4*>(scratch),
                            reinterpret_cast<RunScale*>(scratch + code_bytes(n_in, n_tokens)),
                            static_cast<int>(n_chunks)};
  launch(stream, quantise_rows_for_gemv, {.grid = grid_of(n_tokens, n_chunks), .block = dim3(kThreads)},
         x.as<const float>(), static_cast<int>(n_in), static_cast<int>(n_tokens), out);
  return out;
}

GemmActivations quantise_for_gemm(Stream& stream, const Tensor& x) {
  const int64_t n_in = x.ne[0], n_tokens = gemm_tokens(x.n_rows()), n_chunks = n_chunks_of(n_in);
  std::byte* scratch = scratch_of(stream);
  std::byte* sums = scratch + code_bytes(n_in, n_tokens);
  std::byte* steps = sums + sizeof(float2) * n_padded_runs(n_in, n_tokens);
  const GemmActivations out{reinterpret_cast<int8_t*>(scratch), reinterpret_cast<float*>(steps),
                            reinterpret_cast<float2*>(sums), static_cast<int>(n_chunks * kChunkValues),
                            static_cast<int>(padded_tokens(n_tokens))};
  launch(stream, quantise_rows_for_gemm, {.grid = grid_of(n_tokens, n_chunks), .block = dim3(kThreads)},
         x.as<const float>(), static_cast<int>(n_in), static_cast<int>(x.n_rows()), out);
  return out;
}

float* part_sums_of(Stream& stream, const Tensor& x) {
  return reinterpret_cast<float*>(scratch_of(stream) + activation_bytes(x.ne[0], gemm_tokens(x.n_rows())));
}

// Tokens as half_gemm takes them.
int64_t padded_half_tokens(int64_t n_tokens) {
  return n_tokens <= 16 ? 16 : padded_tokens(n_tokens);
}

size_t half_scratch_bytes(int64_t n_in, int64_t n_tokens) {
  const int64_t least_rows = n_tokens > kMostFewTokens ? kManyTokens : 0;  // of half_many()
  const auto n_rows = static_cast<size_t>(std::max(padded_half_tokens(n_tokens), least_rows));
  const auto row_values = static_cast<size_t>(align_up<int64_t>(n_in, kHalfStepValues));
  return n_rows * (kHalves * sizeof(uint16_t) * row_values + kMostParts * sizeof(float)) +
         kMaxPartSums * sizeof(float);
}

HalfActivations halve(Stream& stream, const Tensor& x, DType dtype) {
  const int64_t n_in = x.ne[0], n_tokens = x.n_rows();
  const int64_t n_rows = padded_half_tokens(n_tokens), row_values = align_up<int64_t>(n_in, kHalfStepValues);
  auto* halves = reinterpret_cast<uint16_t*>(scratch_of(stream));
  auto* scales = reinterpret_cast<float*>(halves + kHalves * n_rows * row_values);
  const HalfActivations out{halves, scales, scales + kMostParts * n_rows, static_cast<int>(row_values),
                            static_cast<int>(n_rows)};
  const Parts parts = parts_of(static_cast<int>(n_in), kHalfStepValues);
  const bool has_order = has_one_order(stream, n_tokens);
  const auto kernel = dtype == DType::bf16
                          ? has_order ? halve_rows<__nv_bfloat16, true> : halve_rows<__nv_bfloat16, false>
                      : has_order ? halve_rows<__half, true>
                                  : halve_rows<__half, false>;
  launch(stream, kernel,
         {.grid = dim3(static_cast<unsigned>(n_rows)), .block = dim3(32 * static_cast<unsigned>(parts.n))},
         x.as<const float>(), static_cast<int>(n_in), static_cast<int>(n_tokens), out, parts);
  return out;
}

}  // namespace parlance::cuda
