// im2col and what else only moves numbers between channels, on CUDA.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"

namespace parlance::cuda {

namespace {

// Of the image and of the window, whose sizes fit 32 bits.
struct Columns {
  const float* x;  // (n_all, width, height), from the first channel on that is taken
  float* out;      // (n_taps, n_channel, n_places)
  int64_t n_all;
  int64_t first_place, n_places;
  int width, height, out_width;
  int window_width, n_taps, n_column;
  int stride_x, stride_y, pad_x, pad_y, dilation_x;
};

// A block takes whole places; threads along x write neighbouring values of a column.
__global__ void fill_columns(const Columns p) {
  let_next_start();
  wait_for_previous();
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; i < p.n_places;
       i += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    const int64_t place = p.first_place + i;
    const int y = static_cast<int>(place / p.out_width) * p.stride_y - p.pad_y;
    const int x = static_cast<int>(place % p.out_width) * p.stride_x - p.pad_x;
    float* const column = p.out + i * p.n_column;
    for (int at = threadIdx.x; at < p.n_column; at += blockDim.x) {
      const int channel = at / p.n_taps, tap = at % p.n_taps;
      const int from_x = x + tap % p.window_width * p.dilation_x, from_y = y + tap / p.window_width;
      const bool is_inside = from_x >= 0 && from_x < p.width && from_y >= 0 && from_y < p.height;
      column[at] =
          is_inside ? p.x[(static_cast<int64_t>(from_y) * p.width + from_x) * p.n_all + channel] : 0.0f;
    }
  }
}

void run_im2col(Stream& stream, const Im2colArgs& args) {
  const Conv2dWindow& window = args.window;
  const int64_t n_column = args.out.ne[0], n_places = args.out.n_rows();
  if (n_column == 0 || n_places == 0) return;
  const auto size = [](int64_t n) { return static_cast<int>(n); };
  const Columns columns{
      .x = args.x.as<const float>() + args.first_channel,
      .out = args.out.as<float>(),
      .n_all = args.x.ne[0],
      .first_place = args.first_place,
      .n_places = n_places,
      .width = size(args.x.ne[1]),
      .height = size(args.x.ne[2]),
      .out_width = size(window.out_width(args.x.ne[1])),
      .window_width = size(window.width),
      .n_taps = size(window.width * window.height),
      .n_column = size(n_column),
      .stride_x = size(window.stride_x),
      .stride_y = size(window.stride_y),
      .pad_x = size(window.pad_x),
      .pad_y = size(window.pad_y),
      .dilation_x = size(window.dilation_x),
  };
  launch(stream, fill_columns, shape_of_rows(n_column, n_places), columns);
}

__global__ void put_places(const float* src, float* dst, int n, int64_t n_channel, int64_t n_places) {
  let_next_start();
  wait_for_previous();
  for (int64_t place = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; place < n_places;
       place += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    for (int c = threadIdx.x; c < n; c += blockDim.x) dst[place * n_channel + c] = src[place * n + c];
  }
}

void run_put_channels(Stream& stream, const PutChannelsArgs& args) {
  const int64_t n = args.src.ne[0], n_places = args.src.ne[1];
  if (n == 0 || n_places == 0) return;
  launch(stream, put_places, shape_of_rows(n, n_places), args.src.as<const float>(),
         args.dst.as<float>() + args.first, static_cast<int>(n), args.dst.ne[0], n_places);
}

}  // namespace

void fill_im2col(OpTable& table) {
  table.im2col = {run_im2col};
}

void fill_put_channels(OpTable& table) {
  table.put_channels = {run_put_channels};
}

}  // namespace parlance::cuda
