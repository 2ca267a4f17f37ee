#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class Add : public KernelTest {};

TEST_P(Add, AddsInPlace) {
  OpBench bench = tested();
  for (const int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 1024, 200001}) {
    const auto x = random_floats(n), y = random_floats(n);
    const Tensor tx = bench.upload({n, 1, 1, 1}, x), ty = bench.upload({n, 1, 1, 1}, y);
    std::vector<float> want(x);
    for (size_t i = 0; i < want.size(); ++i) want[i] += y[i];
    EXPECT_EQ(bench.run([&](Stream& s) {
      add(s, tx, ty);
      return tx;
    }),
              want)
        << n;
    EXPECT_EQ(bench.download(ty), y);
  }
}

PARLANCE_FOR_EACH_DEVICE(Add, &OpTable::add);

}  // namespace
}  // namespace parlance::test
