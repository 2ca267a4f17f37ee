#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class Gelu : public KernelTest {
 protected:
  std::vector<float> gelu_of(OpBench& bench, const std::vector<float>& x) {
    const Tensor t = bench.upload({static_cast<int64_t>(x.size()), 1, 1, 1}, x);
    return bench.run([&](Stream& s) { return gelu(s, t); });
  }
};

TEST_P(Gelu, MatchesDefinition) {
  OpBench a = tested(), b = reference();
  if (may_skip(a.device().ops().gelu)) GTEST_SKIP() << "this device has no gelu";
  for (const int64_t n : {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 3584, 100003}) {
    SCOPED_TRACE(n);
    const auto x = random_floats(n, 12);
    expect_close(gelu_of(a, x), gelu_of(b, x), 1e-12f, 6e-6f);  // exp(-z^2) for large z, in f32
  }
  std::vector<float> near(20001);
  for (size_t i = 0; i < near.size(); ++i) near[i] = (static_cast<float>(i) - 10000) * 2e-4f;
  expect_close(gelu_of(a, near), gelu_of(b, near), 1e-12f, 1e-6f);
}

TEST_P(Gelu, FarTailsAreZeroOrTheValue) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().gelu)) GTEST_SKIP() << "this device has no gelu";
  const std::vector<float> x = {-1e30f, -1e4f, -100, -20, 0, 20, 100, 1e4f, 1e30f};
  const auto got = gelu_of(bench, x);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i], std::max(x[i], 0.0f), 1e-30f) << x[i];
}

PARLANCE_FOR_EACH_DEVICE(Gelu, &OpTable::gelu);

}  // namespace
}  // namespace parlance::test
