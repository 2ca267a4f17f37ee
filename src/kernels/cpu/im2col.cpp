// im2col and what else only moves numbers between channels: every instruction set has the same kernels.
#include <algorithm>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

// The column of the place (x, y): for each channel the window's values, row by row.
void fill_column(const Im2colArgs& args, int64_t x, int64_t y, float* column) {
  const int64_t n_all = args.x.ne[0], width = args.x.ne[1], height = args.x.ne[2];
  const Conv2dWindow& window = args.window;
  const int64_t n_taps = window.width * window.height;
  for (int64_t j = 0; j < window.height; ++j) {
    const int64_t from_y = y * window.stride_y + j - window.pad_y;
    for (int64_t i = 0; i < window.width; ++i) {
      const int64_t from_x = x * window.stride_x + i * window.dilation_x - window.pad_x;
      float* tap = column + j * window.width + i;
      if (from_x < 0 || from_x >= width || from_y < 0 || from_y >= height) {
        for (int64_t channel = 0; channel < args.n_channel; ++channel) tap[channel * n_taps] = 0;
        continue;
      }
      const float* pixel = args.x.as<const float>() + (from_y * width + from_x) * n_all + args.first_channel;
      for (int64_t channel = 0; channel < args.n_channel; ++channel) tap[channel * n_taps] = pixel[channel];
    }
  }
}

void run_im2col(Stream& stream, const Im2colArgs& args) {
  const int64_t n = args.out.ne[0], out_width = args.window.out_width(args.x.ne[1]);
  parallel_rows(pool_of(stream), args.out.n_rows(), n, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t place = args.first_place + i;
      fill_column(args, place % out_width, place / out_width, args.out.as<float>() + i * n);
    }
  });
}

void run_put_channels(Stream& stream, const PutChannelsArgs& args) {
  const int64_t n = args.src.ne[0], n_channel = args.dst.ne[0];
  const auto* src = args.src.as<const float>();
  auto* dst = args.dst.as<float>() + args.first;
  parallel_rows(pool_of(stream), args.src.ne[1], n, [&](int64_t first, int64_t last) {
    for (int64_t place = first; place < last; ++place)
      std::copy_n(src + place * n, n, dst + place * n_channel);
  });
}

}  // namespace

void fill_im2col(OpTable& table, Isa) {
  table.im2col = {run_im2col};
}

void fill_put_channels(OpTable& table, Isa) {
  table.put_channels = {run_put_channels};
}

}  // namespace parlance
