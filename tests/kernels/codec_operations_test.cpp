// The operations of a neural audio codec beside convolutions.
#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class CodecOperations : public KernelTest {};

TEST_P(CodecOperations, SnakeMatchesDefinition) {
  OpBench a = tested(), b = reference();
  if (may_skip(a.device().ops().snake)) GTEST_SKIP() << "this device has no snake";
  for (const int64_t n_channel : {1, 3, 8, 17, 32, 64, 1024}) {
    for (const int64_t n : {0, 1, 50}) {
      SCOPED_TRACE(fmt::format("{} x {}", n_channel, n));
      const auto x = random_floats(n_channel * n, 20);
      auto alpha = random_floats(n_channel, 3);
      for (float& value : alpha) value = std::fabs(value) + 0.05f;
      const auto on = [&](OpBench& bench) {
        const Tensor tx = bench.upload({n_channel, n, 1, 1}, x),
                     ta = bench.upload({n_channel, 1, 1, 1}, alpha);
        return bench.run([&](Stream& s) { return snake(s, tx, ta); });
      };
      expect_close(on(a), on(b), 2e-5f, 2e-6f);  // sin^2 of f32 up to 60, over alpha down to 0.05
    }
  }
}

TEST_P(CodecOperations, EluMatchesItsFormula) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().elu)) GTEST_SKIP() << "this device has no elu";
  const auto x = random_floats(1001, 10);
  const Tensor t = bench.upload({1001, 1, 1, 1}, x);
  const auto got = bench.run([&](Stream& s) { return elu(s, t); });
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i], x[i] < 0 ? std::expm1(x[i]) : x[i], 1e-6f);
}

TEST_P(CodecOperations, ChannelNormNormalisesOverTime) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().channel_norm)) GTEST_SKIP() << "this device has no channel_norm";
  for (const int64_t n_channel : {1, 16, 40}) {
    const int64_t n = 77;
    const auto x = random_floats(n_channel * n, 4), weight = random_floats(n_channel),
               bias = random_floats(n_channel);
    const Tensor tx = bench.upload({n_channel, n, 1, 1}, x);
    const NormWeights w{bench.upload({n_channel, 1, 1, 1}, weight), bench.upload({n_channel, 1, 1, 1}, bias)};
    const auto got = bench.run([&](Stream& s) { return channel_norm(s, tx, w, 1e-5f); });
    for (int64_t c = 0; c < n_channel; ++c) {
      double mean = 0, variance = 0;
      const auto at = [&](int64_t i) { return static_cast<size_t>(i * n_channel + c); };
      for (int64_t i = 0; i < n; ++i) mean += static_cast<double>(x[at(i)]) / n;
      for (int64_t i = 0; i < n; ++i) variance += std::pow(static_cast<double>(x[at(i)]) - mean, 2) / n;
      for (int64_t i = 0; i < n; ++i) {
        const double want = (static_cast<double>(x[at(i)]) - mean) / std::sqrt(variance + 1e-5) *
                                static_cast<double>(weight[static_cast<size_t>(c)]) +
                            static_cast<double>(bias[static_cast<size_t>(c)]);
        ASSERT_NEAR(static_cast<double>(got[at(i)]), want, 1e-5);
      }
    }
  }
}

// full[t stride + k] += w[k] x[t]; cropped by ceil(stride / 2) on both sides, with a place of the bias alone
// behind it for odd strides.
TEST_P(CodecOperations, TransposedConvolutionMatchesItsFormula) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().col2im)) GTEST_SKIP() << "this device has no col2im";
  for (const int64_t stride : {2, 3, 4, 5, 8}) {
    for (const int64_t n : {1, 2, 9}) {
      const int64_t n_in = 6, n_out = 5;
      SCOPED_TRACE(fmt::format("stride {} n {}", stride, n));
      const auto x = random_floats(n_in * n), weight = random_floats(n_in * n_out * 2 * stride),
                 bias = random_floats(n_out);
      const Tensor tx = bench.upload({n_in, n, 1, 1}, x);
      const Linear w{bench.upload({n_in, n_out * 2 * stride, 1, 1}, weight),
                     bench.upload({n_out, 1, 1, 1}, bias)};
      const auto got = bench.run([&](Stream& s) { return conv_transpose1d(s, w, tx, stride); });
      std::vector<double> full(static_cast<size_t>((n + 1) * stride * n_out), 0.0);
      for (int64_t t = 0; t < n; ++t) {
        for (int64_t k = 0; k < 2 * stride; ++k) {
          for (int64_t o = 0; o < n_out; ++o) {
            for (int64_t i = 0; i < n_in; ++i) {
              full[static_cast<size_t>((t * stride + k) * n_out + o)] +=
                  static_cast<double>(weight[static_cast<size_t>((k * n_out + o) * n_in + i)]) *
                  static_cast<double>(x[static_cast<size_t>(t * n_in + i)]);
            }
          }
        }
      }
      const int64_t crop = (stride + 1) / 2;
      ASSERT_EQ(std::ssize(got), n * stride * n_out);
      for (int64_t p = 0; p < n * stride; ++p) {
        for (int64_t o = 0; o < n_out; ++o) {
          const bool is_added = stride % 2 == 1 && p + 1 == n * stride;
          const double want = static_cast<double>(bias[static_cast<size_t>(o)]) +
                              (is_added ? 0 : full[static_cast<size_t>((p + crop) * n_out + o)]);
          ASSERT_NEAR(static_cast<double>(got[static_cast<size_t>(p * n_out + o)]), want, 1e-5) << p;
        }
      }
    }
  }
}

// Groups of channels do not see each other.
TEST_P(CodecOperations, GroupedConvolutionIsOnePerGroup) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().put_channels)) GTEST_SKIP() << "this device has no put_channels";
  const int64_t n_group = 4, n_in = 3, n_out = 2, width = 6, n = 20;
  const auto x = random_floats(n_group * n_in * n), weight = random_floats(width * n_in * n_out * n_group);
  const Tensor tx = bench.upload({n_group * n_in, n, 1, 1}, x);
  const Conv2dWindow window{.width = width, .height = 1, .pad_x = 3};
  std::vector<Linear> groups;
  std::vector<std::vector<float>> alone;
  for (int64_t g = 0; g < n_group; ++g) {
    const auto first = weight.begin() + g * width * n_in * n_out;
    groups.push_back({bench.upload({width * n_in, n_out, 1, 1}, {first, first + width * n_in * n_out}), {}});
    std::vector<float> own;
    for (int64_t i = 0; i < n; ++i) {
      const auto from = x.begin() + (i * n_group + g) * n_in;
      own.insert(own.end(), from, from + n_in);
    }
    const Tensor to = bench.upload({n_in, n, 1, 1}, own);
    alone.push_back(bench.run([&](Stream& s) { return conv1d(s, groups.back(), to, window); }));
  }
  const auto got = bench.run([&](Stream& s) { return conv1d(s, groups, tx, window); });
  for (int64_t i = 0; i < n + 1; ++i) {
    for (int64_t c = 0; c < n_group * n_out; ++c) {
      EXPECT_EQ(got[static_cast<size_t>(i * n_group * n_out + c)],
                alone[static_cast<size_t>(c / n_out)][static_cast<size_t>(i * n_out + c % n_out)]);
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(CodecOperations);

}  // namespace
}  // namespace parlance::test
