// Weights as f16 in tiles, which wide_kept.cu multiplies.
#include "kernels/cuda/matmul/kept_weights.h"

#include "base/checked.h"
#include "kernels/cuda/matmul/half.cuh"
#include "kernels/cuda/matmul/run_halves.cuh"
#include "kernels/cuda/matmul/warpgroup.cuh"
#include "kernels/cuda/matmul/wide_gemm.h"
#include "kernels/cuda/weight_types.h"

namespace parlance::cuda {

KeptWeight::KeptWeight(DType dtype, int64_t n_in, int64_t n_out)
    : n_in(static_cast<int>(n_in)),
      n_out(static_cast<int>(n_out)),
      n_rows(static_cast<int>(align_up<int64_t>(n_out, kRowUnit))),
      n_steps(static_cast<int>(div_up<int64_t>(n_in, kHalfStepValues))),
      has_rests(dtype == DType::f32) {}

#if PARLANCE_HAS_WARPGROUPS

namespace {

constexpr int kKeepThreads = 256;

// Where a piece of a row lies, in bytes.
__device__ inline int64_t kept_place(int n_rows, int row, int piece) {
  constexpr int kStepPieces = kSwizzledRowBytes / kPieceBytes;
  return static_cast<int64_t>(piece / kStepPieces) * n_rows * kSwizzledRowBytes +
         swizzled_place(row, piece % kStepPieces);
}

// A thread for each run of a row, also of those that do not exist.
template <class Type>
__global__ void __launch_bounds__(kKeepThreads)
    keep_runs(const uint8_t* weight, int64_t row_bytes, const KeptWeight k, uint8_t* tiles) {
  let_next_start();
  wait_for_previous();
  const int n_runs = k.n_steps * (kHalfStepValues / kRunValues);
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kKeepThreads + threadIdx.x;
  const int row = static_cast<int>(index / n_runs), run = static_cast<int>(index % n_runs);
  if (row >= k.n_rows) return;
  Run w{};
  if (row < k.n_out && run * kRunValues < k.n_in)
    Type::unpack(weight + row * row_bytes + run / Type::kBlockRuns * Type::kBlockBytes,
                 run % Type::kBlockRuns, w);
#pragma unroll
  for (int piece = 0; piece < kRunPieces; ++piece)
    *reinterpret_cast<uint4*>(tiles + kept_place(k.n_rows, row, run * kRunPieces + piece)) =
        halves_of_run<Type>(w, piece);
}

// A block for each row.
__global__ void __launch_bounds__(kKeepThreads)
    keep_halves(const uint16_t* weight, const KeptWeight k, uint8_t* tiles) {
  let_next_start();
  wait_for_previous();
  const int row = static_cast<int>(blockIdx.x);
  for (int i = threadIdx.x; i < k.n_steps * kHalfStepValues; i += kKeepThreads) {
    const bool exists = row < k.n_out && i < k.n_in;
    reinterpret_cast<uint16_t*>(tiles + kept_place(k.n_rows, row, i / kPieceValues))[i % kPieceValues] =
        exists ? weight[static_cast<int64_t>(row) * k.n_in + i] : uint16_t{0};
  }
}

__global__ void __launch_bounds__(kKeepThreads)
    keep_floats(const float* weight, const KeptWeight k, uint8_t* tiles, uint8_t* rests, float* scales) {
  __shared__ float largest_of_warps[kKeepThreads / 32];
  let_next_start();
  wait_for_previous();
  const int row = static_cast<int>(blockIdx.x);
  const float* const from = weight + static_cast<int64_t>(row) * k.n_in;
  const auto value = [&](int i) { return row < k.n_out && i < k.n_in ? from[i] : 0.0f; };
  float largest = 0;
  for (int i = threadIdx.x; i < k.n_in; i += kKeepThreads) largest = fmaxf(largest, fabsf(value(i)));
  largest = max_of_warp(largest);
  if (threadIdx.x % 32 == 0) largest_of_warps[threadIdx.x / 32] = largest;
  __syncthreads();
  for (const float of : largest_of_warps) largest = fmaxf(largest, of);
  const float scale = scale_for_f16(largest), inverse = inverse_of_power_of_two(scale);
  if (threadIdx.x == 0) scales[row] = scale;
  for (int i = threadIdx.x; i < k.n_steps * kHalfStepValues; i += kKeepThreads) {
    const float scaled = value(i) * inverse;
    const __half half = __float2half_rn(scaled);
    reinterpret_cast<__half*>(tiles + kept_place(k.n_rows, row, i / kPieceValues))[i % kPieceValues] = half;
    reinterpret_cast<__half*>(rests + kept_place(k.n_rows, row, i / kPieceValues))[i % kPieceValues] =
        __float2half_rn(scaled - __half2float(half));
  }
}

// A block for each row that exists, when its f16 are there.
__global__ void __launch_bounds__(kKeepThreads)
    find_longest(const KeptWeight k, const uint8_t* tiles, float* longest) {
  __shared__ float squares_of_warps[kKeepThreads / 32];
  let_next_start();
  wait_for_previous();
  const int row = static_cast<int>(blockIdx.x);
  float squares = 0;
  for (int i = threadIdx.x; i < k.n_steps * kHalfStepValues; i += kKeepThreads) {
    const auto* const piece =
        reinterpret_cast<const __half*>(tiles + kept_place(k.n_rows, row, i / kPieceValues));
    const float value = __half2float(piece[i % kPieceValues]);
    squares += value * value;
  }
  squares = sum_of_warp(squares);
  if (threadIdx.x % 32 == 0) squares_of_warps[threadIdx.x / 32] = squares;
  __syncthreads();
  if (threadIdx.x != 0) return;
  squares = 0;
  for (const float of : squares_of_warps) squares += of;
  // Floats that are not negative have the order of their bits.
  atomicMax(reinterpret_cast<int*>(longest), __float_as_int(sqrtf(squares)));
}

}  // namespace

size_t kept_bytes(const Gpu& gpu, const Tensor& weight) {
  const bool is_read = has_wide_kernels(gpu.compute_capability) && !gpu.is_deterministic &&
                       weight.dtype != DType::bf16 && weight.ne[0] % kPieceValues == 0 &&
                       weight.ne[0] <= kMostWideValues && weight.n_rows() > 0;
  return is_read ? KeptWeight(weight.dtype, weight.ne[0], weight.n_rows()).bytes() : 0;
}

cudaError_t make_kept(const Tensor& weight, std::byte* out) {
  const KeptWeight kept(weight.dtype, weight.ne[0], weight.n_rows());
  auto* const tiles = reinterpret_cast<uint8_t*>(out);
  if (weight.dtype == DType::f32) {
    uint8_t* const rests = tiles + kept.part_bytes();
    keep_floats<<<static_cast<unsigned>(kept.n_rows), kKeepThreads>>>(
        weight.as<const float>(), kept, tiles, rests, reinterpret_cast<float*>(rests + kept.part_bytes()));
  } else if (weight.dtype == DType::f16) {
    keep_halves<<<static_cast<unsigned>(kept.n_rows), kKeepThreads>>>(weight.as<const uint16_t>(), kept,
                                                                      tiles);
  } else {
    const int64_t n_runs = static_cast<int64_t>(kept.n_rows) * kept.n_steps * (kHalfStepValues / kRunValues);
    visit_block_type(weight.dtype, [&](auto type) {
      keep_runs<decltype(type)>
          <<<static_cast<unsigned>(div_up<int64_t>(n_runs, kKeepThreads)), kKeepThreads>>>(
              weight.as<const uint8_t>(), static_cast<int64_t>(weight.row_size()), kept, tiles);
    });
  }
  auto* const longest = reinterpret_cast<float*>(tiles + kept.length_at());
  cudaMemsetAsync(longest, 0, sizeof(float), nullptr);
  find_longest<<<static_cast<unsigned>(kept.n_out), kKeepThreads>>>(kept, tiles, longest);
  const cudaError_t code = cudaGetLastError();
  return code == cudaSuccess ? cudaStreamSynchronize(nullptr) : code;
}

#else

size_t kept_bytes(const Gpu&, const Tensor&) {
  return 0;
}
cudaError_t make_kept(const Tensor&, std::byte*) {
  return cudaErrorNotSupported;
}

#endif

}  // namespace parlance::cuda
