#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class AddRmsNorm : public KernelTest {};

// The same as add() followed by rms_norm() of the definition.
TEST_P(AddRmsNorm, AddsThenNormalises) {
  OpBench a = tested(), b = reference();
  for (const int64_t n : {1, 2, 15, 16, 17, 33, 64, 80, 896, 1024, 1025, 5120, 9216}) {
    for (const int64_t n_rows : {0, 1, 3, 200}) {
      SCOPED_TRACE(testing::Message() << n << " x " << n_rows);
      const auto h = random_floats(n * n_rows, 30), y = random_floats(n * n_rows), weight = random_floats(n);
      const std::vector<float> unwritten(static_cast<size_t>(n * n_rows), std::nanf(""));
      const auto upload = [&](OpBench& bench, const std::vector<float>& values) {
        return bench.upload({n, n_rows, 1, 1}, values);
      };
      const Tensor h_a = upload(a, h), y_a = upload(a, y), x_a = upload(a, unwritten);
      const Tensor w_a = a.upload({n, 1, 1, 1}, weight);
      const auto got = a.run([&](Stream& s) {
        add_rms_norm(s, h_a, y_a, w_a, 1e-6f, x_a);
        return x_a;
      });
      const Tensor h_b = upload(b, h), y_b = upload(b, y), w_b = b.upload({n, 1, 1, 1}, weight);
      const auto want = b.run([&](Stream& s) {
        add(s, h_b, y_b);
        return rms_norm(s, h_b, w_b, 1e-6f);
      });
      expect_close(got, want, 0, 1e-5f);
      EXPECT_EQ(a.download(h_a), b.download(h_b));
      EXPECT_EQ(a.download(y_a), y);
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(AddRmsNorm, &OpTable::add_rms_norm, &OpTable::add, &OpTable::rms_norm);

}  // namespace
}  // namespace parlance::test
