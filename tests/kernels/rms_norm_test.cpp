#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class RmsNorm : public KernelTest {};

TEST_P(RmsNorm, MatchesDefinition) {
  OpBench a = tested(), b = reference();
  for (const int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 64, 80, 128, 896, 1024, 1025}) {
    for (const int64_t n_rows : {0, 1, 3, 16, 200}) {
      const auto x = random_floats(n * n_rows, 30);
      const auto weight = random_floats(n);
      const auto on = [&](OpBench& bench) {
        const Tensor tx = bench.upload({n, n_rows, 1, 1}, x), tw = bench.upload({n, 1, 1, 1}, weight);
        return bench.run([&](Stream& s) { return rms_norm(s, tx, tw, 1e-6f); });
      };
      SCOPED_TRACE(testing::Message() << n << " x " << n_rows);
      expect_close(on(a), on(b), 0, 1e-5f);
    }
  }
}

TEST_P(RmsNorm, EpsilonKeepsZeroRowsFinite) {
  OpBench bench = tested();
  const Tensor x = bench.upload({64, 2, 1, 1}, std::vector<float>(128, 0.0f));
  const Tensor weight = bench.upload({64, 1, 1, 1}, std::vector<float>(64, 2.0f));
  EXPECT_EQ(bench.run([&](Stream& s) { return rms_norm(s, x, weight, 1e-6f); }),
            std::vector<float>(128, 0.0f));
}

TEST_P(RmsNorm, KnownValues) {
  OpBench bench = tested();
  const Tensor x = bench.upload({2, 1, 1, 1}, {3, 4});
  const Tensor weight = bench.upload({2, 1, 1, 1}, {1, 10});
  const float rms = std::sqrt(12.5f);
  expect_close(bench.run([&](Stream& s) { return rms_norm(s, x, weight, 0); }), {3 / rms, 40 / rms}, 0,
               1e-6f);
}

PARLANCE_FOR_EACH_DEVICE(RmsNorm, &OpTable::rms_norm);

}  // namespace
}  // namespace parlance::test
