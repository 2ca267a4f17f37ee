// Activations rounded to what the products take, once for all weights of a call.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/half_few.h"
#include "kernels/cuda/matmul/half_many.h"
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
constexpr int kHeldPieces = 12;  // of x, by a lane: of rows of 12288 values
constexpr int kFewHeldPieces = 4;

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

// What a warp has of a token, of blocks (token) with a warp for each part: nothing before load(). A lane
// holds so many pieces of it.
template <int kHeld>
struct WarpPart {
  int token, part;
  int first;     // value of the part
  int n_padded;  // values, those that whole steps have more included
  PartOfX<kHeld, (kHeld == kHeldPieces)> values;

  __device__ WarpPart(const float* x, int n_in, int n_tokens, const Parts& parts)
      : token(blockIdx.x),
        part(static_cast<int>(threadIdx.x) / 32),
        first(part * n_part(parts)),
        n_padded(
            min(n_part(parts), (n_in + kHalfStepValues - 1) / kHalfStepValues * kHalfStepValues - first)),
        values(x + static_cast<int64_t>(token) * n_in + first,
               token < n_tokens ? min(n_part(parts), n_in - first) : 0, {}) {}

  // Where tiles of warpgroups have values from `at` of the part on, in their step's tile of tokens.
  __device__ int step(int at) const { return (first + at) / kHalfStepValues; }
  __device__ int place(int at) const {
    return swizzled_place(token, (first + at) % kHalfStepValues / kPieceValues) +
           at % kPieceValues * static_cast<int>(sizeof(uint16_t));
  }

 private:
  __device__ static int n_part(const Parts& parts) { return parts.units * kHalfStepValues; }
};

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

// The same, where the tensor cores of half_many.cu want them; with a weight, under rms_norm. Few registers,
// so that the products' blocks fit beside it.
template <class Half, bool kHasNorm, int kHeld>
__global__ void __launch_bounds__(32 * kMostParts, kHeld > kFewHeldPieces ? 3
                                                   : kHasNorm             ? 4
                                                                          : 6)
    halve_rows_for_many(const float* x, int n_in, int n_tokens, const float* weight, float eps,
                        ManyActivations out, Parts parts) {
  __shared__ float squares[kMostRowLanes / 32];
  let_next_start();
  WarpPart<kHeld> own(x, n_in, n_tokens, parts);
  [[maybe_unused]] float4 weights[kHeld];
  if constexpr (kHasNorm) own.values.load_weights(weight + own.first, weights);
  wait_for_previous();
  own.values.load();
  if constexpr (kHasNorm) {
    if (own.token < n_tokens) {
      leave_squares(x + static_cast<int64_t>(own.token) * n_in, n_in, squares);
      __syncthreads();
      own.values.normalise(scale_of_squares(squares, n_in, eps), weights);
    }
  }
  const float scale = own.values.template scale<Half>();
  own.values.template for_each_halved<Half>(
      own.n_padded, scale, [&](int at, const uint32_t(&high)[2], const uint32_t(&low)[2]) {
        auto* const to = reinterpret_cast<uint8_t*>(out.step(own.step(at))) + own.place(at);
        *reinterpret_cast<uint2*>(to) = make_uint2(high[0], high[1]);
        *reinterpret_cast<uint2*>(to + ManyActivations::kHalfBytes) = make_uint2(low[0], low[1]);
      });
  if (threadIdx.x % 32 == 0) out.scales[own.part * kManyTokens + own.token] = scale;
}

template <class Half>
auto halving_for_many(bool has_norm, bool is_short) {
  if (has_norm) return halve_rows_for_many<Half, true, kFewHeldPieces>;
  return is_short ? halve_rows_for_many<Half, false, kFewHeldPieces>
                  : halve_rows_for_many<Half, false, kHeldPieces>;
}

// Whether a lane's share of a part is no more than kFewHeldPieces.
bool has_few_pieces(int64_t n_in) {
  const Parts parts = parts_of(static_cast<int>(n_in), kHalfStepValues);
  return parts.units * kHalfStepValues <= kFewHeldPieces * 4 * 32;
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

bool halve_for_many_normalises(const Tensor& x, const Tensor& norm) {
  return x.ne[0] % kRowQuadValues == 0 && has_few_pieces(x.ne[0]) && is_aligned(x) && is_aligned(norm);
}

ManyActivations halve_for_many(Stream& stream, const Tensor& x, DType dtype, const Tensor& norm,
                               float norm_eps) {
  const int64_t n_in = x.ne[0];
  auto* halves = reinterpret_cast<uint16_t*>(scratch_of(stream));
  auto* scales =
      reinterpret_cast<float*>(halves + kHalves * kManyTokens * align_up<int64_t>(n_in, kHalfStepValues));
  const ManyActivations out{halves, scales, scales + kMostParts * kManyTokens};
  const Parts parts = parts_of(static_cast<int>(n_in), kHalfStepValues);
  const bool has_norm = static_cast<bool>(norm), is_short = has_few_pieces(n_in);
  const auto kernel = dtype == DType::bf16 ? halving_for_many<__nv_bfloat16>(has_norm, is_short)
                                           : halving_for_many<__half>(has_norm, is_short);
  launch(stream, kernel, {.grid = dim3(kManyTokens), .block = dim3(32 * static_cast<unsigned>(parts.n))},
         x.as<const float>(), static_cast<int>(n_in), static_cast<int>(x.n_rows()), norm.as<const float>(),
         norm_eps, out, parts);
  return out;
}

}  // namespace parlance::cuda
