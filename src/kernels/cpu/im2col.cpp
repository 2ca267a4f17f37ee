// im2col on the CPU: moves numbers only, so every instruction set has the same kernel.
#include <algorithm>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

// The column of the place (x, y): for each channel the window's values, row by row.
void fill_column(const Im2colArgs& args, int64_t x, int64_t y, float* column) {
  const auto [n_channel, width, height, one] = args.x.ne;
  const Conv2dWindow& window = args.window;
  const int64_t n_taps = window.width * window.height;
  for (int64_t j = 0; j < window.height; ++j) {
    const int64_t from_y = y * window.stride_y + j - window.pad;
    for (int64_t i = 0; i < window.width; ++i) {
      const int64_t from_x = x * window.stride_x + i - window.pad;
      float* tap = column + j * window.width + i;
      if (from_x < 0 || from_x >= width || from_y < 0 || from_y >= height) {
        for (int64_t channel = 0; channel < n_channel; ++channel) tap[channel * n_taps] = 0;
        continue;
      }
      const float* pixel = args.x.as<const float>() + (from_y * width + from_x) * n_channel;
      for (int64_t channel = 0; channel < n_channel; ++channel) tap[channel * n_taps] = pixel[channel];
    }
  }
}

void run_im2col(Stream& stream, const Im2colArgs& args) {
  const int64_t n = args.out.ne[0], out_width = args.out.ne[1];
  parallel_rows(pool_of(stream), args.out.n_rows(), n, [&](int64_t first, int64_t last) {
    for (int64_t place = first; place < last; ++place) {
      fill_column(args, place % out_width, place / out_width, args.out.as<float>() + place * n);
    }
  });
}

}  // namespace

void fill_im2col(OpTable& table, Isa) {
  table.im2col = {run_im2col};
}

}  // namespace parlance
