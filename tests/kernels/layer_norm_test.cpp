#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class LayerNorm : public KernelTest {};

TEST_P(LayerNorm, MatchesDefinition) {
  OpBench a = tested(), b = reference();
  if (may_skip(a.device().ops().layer_norm)) GTEST_SKIP() << "this device has no layer_norm";
  for (const int64_t n : {1, 2, 15, 16, 17, 31, 33, 64, 896, 1024}) {
    for (const int64_t n_rows : {0, 1, 3, 104}) {
      SCOPED_TRACE(fmt::format("{} x {}", n, n_rows));
      auto x = random_floats(n * n_rows, 3);
      for (float& value : x) value += 5;  // a mean far from zero
      const auto weight = random_floats(n), bias = random_floats(n);
      const auto on = [&](OpBench& bench) {
        const Tensor tx = bench.upload({n, n_rows, 1, 1}, x);
        const NormWeights w{bench.upload({n, 1, 1, 1}, weight), bench.upload({n, 1, 1, 1}, bias)};
        return bench.run([&](Stream& s) { return layer_norm(s, tx, w, 1e-5f); });
      };
      expect_close(on(a), on(b), 4e-6f, 4e-6f);
    }
  }
}

// A row of equal values has no variance: eps keeps it finite, and the bias is left.
TEST_P(LayerNorm, EqualValuesGiveTheBias) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().layer_norm)) GTEST_SKIP() << "this device has no layer_norm";
  const std::vector<float> bias = random_floats(40);
  const Tensor x = bench.upload({40, 1, 1, 1}, std::vector<float>(40, 2.0f));
  const NormWeights w{bench.upload({40, 1, 1, 1}, random_floats(40)), bench.upload({40, 1, 1, 1}, bias)};
  expect_close(bench.run([&](Stream& s) { return layer_norm(s, x, w, 1e-5f); }), bias, 1e-6f, 0);
}

PARLANCE_FOR_EACH_DEVICE(LayerNorm, &OpTable::layer_norm);

}  // namespace
}  // namespace parlance::test
