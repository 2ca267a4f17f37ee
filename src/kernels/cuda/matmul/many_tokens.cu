// Tokens as half_many.cu takes them: as they are, under a norm, or where parts of a product are added up to
// the residual stream that they are.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/matmul/half_many.h"
#include "kernels/cuda/matmul/half_part.cuh"
#include "kernels/cuda/matmul/many_parts.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

// Rounds a warp's part of a token.
template <class Half, int kHeld>
__device__ void halve_part(const WarpPart<kHeld>& own, const ManyActivations& out) {
  const float scale = own.values.template scale<Half>();
  own.values.template for_each_halved<Half>(
      own.n_padded, scale, [&](int at, const uint32_t(&high)[2], const uint32_t(&low)[2]) {
        auto* const to = reinterpret_cast<uint8_t*>(out.step(own.step(at))) + own.place(at);
        *reinterpret_cast<uint2*>(to) = make_uint2(high[0], high[1]);
        *reinterpret_cast<uint2*>(to + ManyActivations::kHalfBytes) = make_uint2(low[0], low[1]);
      });
  if (threadIdx.x % 32 == 0) out.scales[own.part * kManyTokens + own.token] = scale;
}

// With a weight, under rms_norm, by a block for a token. Few registers, so that the products' blocks fit
// beside it.
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
  halve_part<Half>(own, out);
}

constexpr int kMostFewValues = kFewHeldPieces * 4 * 32 * kMostParts;  // of a row with few pieces

// A block (token): h += a product whose parts have been left, then h under rms_norm.
template <class Half>
__global__ void __launch_bounds__(32 * kMostParts, 2)
    add_and_halve(float* h, int n, int n_tokens, const ManyParts added, const float* bias,
                  const float* weight, float eps, ManyActivations out, Parts parts) {
  __shared__ float squares[kMostRowLanes / 32];
  __shared__ alignas(sizeof(float4)) float row[kMostFewValues];
  let_next_start();
  WarpPart<kFewHeldPieces> own(h, n, n_tokens, parts);
  float4 weights[kFewHeldPieces];
  own.values.load_weights(weight + own.first, weights);
  wait_for_previous();
  if (own.token < n_tokens) {
    float* const of_token = h + static_cast<int64_t>(own.token) * n;
    own.values.load_each([&](int at) {
      const int i = own.first + at;
      const float4 before = *reinterpret_cast<const float4*>(of_token + i);
      const float4 sum = added.sum_of_four(own.token, i);
      const float4 b = bias ? *reinterpret_cast<const float4*>(bias + i) : float4{};
      const float4 after = make_float4(before.x + (sum.x + b.x), before.y + (sum.y + b.y),
                                       before.z + (sum.z + b.z), before.w + (sum.w + b.w));
      *reinterpret_cast<float4*>(of_token + i) = *reinterpret_cast<float4*>(row + i) = after;
      return after;
    });
    __syncthreads();
    leave_squares(row, n, squares);
    __syncthreads();
    own.values.normalise(scale_of_squares(squares, n, eps), weights);
  }
  halve_part<Half>(own, out);
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

size_t halves_bytes(int64_t n_in) {
  return sizeof(uint16_t) * kHalves * kManyTokens *
         static_cast<size_t>(align_up<int64_t>(n_in, kHalfStepValues));
}

}  // namespace

size_t many_activation_bytes(int64_t n_in) {
  return halves_bytes(n_in) + sizeof(float) * kMostParts * kManyTokens;
}

ManyActivations many_activations_at(std::byte* at, int64_t n_in) {
  return {reinterpret_cast<uint16_t*>(at), reinterpret_cast<float*>(at + halves_bytes(n_in)),
          reinterpret_cast<float*>(at + many_activation_bytes(n_in))};
}

bool halve_for_many_normalises(const Tensor& x, const Tensor& norm) {
  return x.ne[0] % kRowQuadValues == 0 && has_few_pieces(x.ne[0]) && is_aligned(x) && is_aligned(norm);
}

void halve_for_many(Stream& stream, const Tensor& x, DType dtype, const ManyActivations& out,
                    const Tensor& norm, float norm_eps) {
  const int64_t n_in = x.ne[0];
  const Parts parts = parts_of(static_cast<int>(n_in), kHalfStepValues);
  const bool has_norm = static_cast<bool>(norm), is_short = has_few_pieces(n_in);
  const auto kernel = dtype == DType::bf16 ? halving_for_many<__nv_bfloat16>(has_norm, is_short)
                                           : halving_for_many<__half>(has_norm, is_short);
  // Without a norm, a token's parts have nothing to do with each other.
  const int n_blocks = !has_norm && parts.n % 2 == 0 ? 2 : 1;
  launch(stream, kernel,
         {.grid = dim3(kManyTokens, static_cast<unsigned>(n_blocks)),
          .block = dim3(32 * static_cast<unsigned>(parts.n / n_blocks))},
         x.as<const float>(), static_cast<int>(n_in), static_cast<int>(x.n_rows()), norm.as<const float>(),
         norm_eps, out, parts);
}

void add_and_halve_for_many(Stream& stream, const Tensor& h, const ManyParts& added, const Tensor& bias,
                            DType dtype, const ManyActivations& out, const Tensor& norm, float norm_eps) {
  const int64_t n = h.ne[0];
  const Parts parts = parts_of(static_cast<int>(n), kHalfStepValues);
  launch(stream, dtype == DType::bf16 ? add_and_halve<__nv_bfloat16> : add_and_halve<__half>,
         {.grid = dim3(kManyTokens), .block = dim3(32 * static_cast<unsigned>(parts.n))}, h.as<float>(),
         static_cast<int>(n), static_cast<int>(h.n_rows()), added, bias.as<const float>(),
         norm.as<const float>(), norm_eps, out, parts);
}

}  // namespace parlance::cuda
