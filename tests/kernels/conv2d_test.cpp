#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class Conv2d : public KernelTest {};

// By the definition of a convolution, in double.
std::vector<float> convolve(const std::vector<float>& x, const std::array<int64_t, 3>& size,
                            const std::vector<float>& weight, const std::vector<float>& bias,
                            const Conv2dWindow& window) {
  const auto [n_channel, width, height] = size;
  const auto n_out = static_cast<int64_t>(bias.size());
  std::vector<float> out;
  for (int64_t y = 0; y < window.out_height(height); ++y) {
    for (int64_t x0 = 0; x0 < window.out_width(width); ++x0) {
      for (int64_t o = 0; o < n_out; ++o) {
        double sum = static_cast<double>(bias[static_cast<size_t>(o)]);
        for (int64_t c = 0; c < n_channel; ++c) {
          for (int64_t j = 0; j < window.height; ++j) {
            for (int64_t i = 0; i < window.width; ++i) {
              const int64_t px = x0 * window.stride_x + i * window.dilation_x - window.pad_x;
              const int64_t py = y * window.stride_y + j - window.pad_y;
              if (px < 0 || px >= width || py < 0 || py >= height) continue;
              const int64_t tap = ((o * n_channel + c) * window.height + j) * window.width + i;
              sum += static_cast<double>(weight[static_cast<size_t>(tap)]) *
                     static_cast<double>(x[static_cast<size_t>((py * width + px) * n_channel + c)]);
            }
          }
        }
        out.push_back(static_cast<float>(sum));
      }
    }
  }
  return out;
}

TEST_P(Conv2d, MatchesDefinition) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().im2col)) GTEST_SKIP() << "this device has no im2col";
  struct Case {
    std::array<int64_t, 3> size;  // channels, width, height
    int64_t n_out;
    Conv2dWindow window;
  };
  const Conv2dWindow stem{.width = 3, .height = 3, .stride_x = 2, .stride_y = 2, .pad_x = 1, .pad_y = 1};
  const Case cases[] = {{{1, 100, 128}, 8, stem},
                        {{8, 13, 16}, 12, stem},
                        {{3, 1, 1}, 5, stem},
                        {{2, 2, 7}, 1, stem},
                        {{8, 13, 16}, 20, {.width = 1, .height = 16, .stride_y = 16}},
                        {{4, 9, 1}, 6, {.width = 5, .height = 1, .stride_x = 3}},
                        {{32, 1500, 1}, 3, {.width = 7, .height = 1, .pad_x = 27, .dilation_x = 9}},
                        {{1, 640, 1}, 16, {.width = 10, .height = 1, .stride_x = 5}}};
  for (const Case& c : cases) {
    const int64_t n_in = c.size[0] * c.window.width * c.window.height;
    SCOPED_TRACE(fmt::format("{}x{}x{}", c.size[0], c.size[1], c.size[2]));
    const auto x = random_floats(c.size[0] * c.size[1] * c.size[2]);
    const auto weight = random_floats(n_in * c.n_out), bias = random_floats(c.n_out);
    const Linear w{bench.upload({n_in, c.n_out, 1, 1}, weight), bench.upload({c.n_out, 1, 1, 1}, bias)};
    const Tensor tx = bench.upload({c.size[0], c.size[1], c.size[2], 1}, x);
    const auto got = bench.run([&](Stream& s) { return conv2d(s, w, tx, c.window); });
    expect_close(got, convolve(x, c.size, weight, bias, c.window), 1e-4f, 1e-5f);
  }
}

PARLANCE_FOR_EACH_DEVICE(Conv2d);

}  // namespace
}  // namespace parlance::test
