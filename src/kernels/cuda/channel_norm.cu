// channel_norm on CUDA: a block takes 32 channels, its warps take turns at the places. Sums are double, as on
// the CPU: there are tens of thousands of places.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kChannels = 32;  // of a block: one for each lane
constexpr int kWarps = 32;

// Of each lane's channel, the sum over all warps; every thread gets its channel's.
__device__ double sum_of_warps(double value, double (&partial)[kWarps][kChannels]) {
  __syncthreads();  // the sums before are read
  partial[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  double sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += partial[warp][threadIdx.x];
  return sum;
}

__global__ void __launch_bounds__(kChannels* kWarps)
    normalise_channels(float* x, const float* weight, const float* bias, int n_channel, int64_t n,
                       float eps) {
  __shared__ double partial[kWarps][kChannels];
  let_next_start();
  wait_for_previous();
  const int channel = blockIdx.x * kChannels + threadIdx.x;
  const bool exists = channel < n_channel;
  x += exists ? channel : 0;
  double sum = 0;
  for (int64_t i = threadIdx.y; i < n; i += kWarps) sum += static_cast<double>(x[i * n_channel]);
  const double mean = sum_of_warps(sum, partial) / static_cast<double>(n);
  double squares = 0;
  for (int64_t i = threadIdx.y; i < n; i += kWarps) {
    const double d = static_cast<double>(x[i * n_channel]) - mean;
    squares += d * d;
  }
  const double variance = sum_of_warps(squares, partial) / static_cast<double>(n);
  if (!exists) return;
  const double scale = 1 / sqrt(variance + static_cast<double>(eps));
  for (int64_t i = threadIdx.y; i < n; i += kWarps) {
    float& value = x[i * n_channel];
    value = static_cast<float>((static_cast<double>(value) - mean) * scale) * weight[channel] + bias[channel];
  }
}

void run_channel_norm(Stream& stream, const ChannelNormArgs& args) {
  const auto n_channel = static_cast<int>(args.x.ne[0]);
  const int64_t n = args.x.ne[1];
  if (n_channel == 0 || n == 0) return;
  launch(stream, normalise_channels,
         {.grid = dim3(static_cast<unsigned>((n_channel + kChannels - 1) / kChannels)),
          .block = dim3(kChannels, kWarps)},
         args.x.as<float>(), args.weight.as<const float>(), args.bias.as<const float>(), n_channel, n,
         args.eps);
}

}  // namespace

void fill_channel_norm(OpTable& table) {
  table.channel_norm = {run_channel_norm};
}

}  // namespace parlance::cuda
