#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class SigmoidGate : public KernelTest {
 protected:
  void SetUp() override {
    if (may_skip(tested().device().ops().sigmoid_gate)) GTEST_SKIP() << "this device has no sigmoid_gate";
  }
};

TEST_P(SigmoidGate, MatchesDefinition) {
  OpBench a = tested(), b = reference();
  for (const int64_t n : {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 2048, 100003}) {
    const auto x = random_floats(n, 3), gate = random_floats(n, 20);
    const auto on = [&](OpBench& bench) {
      const Tensor tx = bench.upload({n, 1, 1, 1}, x), tg = bench.upload({n, 1, 1, 1}, gate);
      return bench.run([&](Stream& s) {
        sigmoid_gate(s, tx, tg);
        return tx;
      });
    };
    SCOPED_TRACE(n);
    expect_close(on(a), on(b), 1e-30f, 1e-6f);
  }
}

TEST_P(SigmoidGate, FarGatesAreShutOrOpen) {
  OpBench bench = tested();
  const std::vector<float> gate = {-1e30f, -1000, -200, 200, 1000, 1e30f};
  const Tensor tg = bench.upload({static_cast<int64_t>(gate.size()), 1, 1, 1}, gate);
  const Tensor tx = bench.upload(tg.ne, std::vector<float>(gate.size(), 2.0f));
  const auto got = bench.run([&](Stream& s) {
    sigmoid_gate(s, tx, tg);
    return tx;
  });
  EXPECT_EQ(got, (std::vector<float>{0, 0, 0, 2, 2, 2}));
}

PARLANCE_FOR_EACH_DEVICE(SigmoidGate, &OpTable::sigmoid_gate);

}  // namespace
}  // namespace parlance::test
