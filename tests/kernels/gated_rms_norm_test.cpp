#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class GatedRmsNorm : public KernelTest {};

// The same as rms_norm() and swiglu() of the definition.
TEST_P(GatedRmsNorm, NormalisesThenGates) {
  OpBench a = tested(), b = reference();
  if (may_skip(a.device().ops().gated_rms_norm)) GTEST_SKIP() << "this device has no gated_rms_norm";
  for (const int64_t n : {1, 2, 15, 16, 17, 33, 64, 128, 129}) {
    for (const int64_t n_rows : {0, 1, 3, 200}) {
      SCOPED_TRACE(testing::Message() << n << " x " << n_rows);
      const auto x = random_floats(n * n_rows, 30), gate = random_floats(n * n_rows, 20);
      const auto weight = random_floats(n);
      const Tensor x_a = a.upload({n, n_rows, 1, 1}, x), gate_a = a.upload({n * n_rows, 1, 1, 1}, gate);
      const Tensor weight_a = a.upload({n, 1, 1, 1}, weight);
      const auto got = a.run([&](Stream& s) { return gated_rms_norm(s, x_a, weight_a, gate_a, 1e-6f); });
      const Tensor x_b = b.upload({n, n_rows, 1, 1}, x), gate_b = b.upload({n, n_rows, 1, 1}, gate);
      const Tensor weight_b = b.upload({n, 1, 1, 1}, weight);
      const auto want =
          b.run([&](Stream& s) { return swiglu(s, gate_b, rms_norm(s, x_b, weight_b, 1e-6f)); });
      expect_close(got, want, 1e-30f, 1e-5f);
      EXPECT_EQ(a.download(x_a), x);
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(GatedRmsNorm, &OpTable::gated_rms_norm, &OpTable::rms_norm);

}  // namespace
}  // namespace parlance::test
