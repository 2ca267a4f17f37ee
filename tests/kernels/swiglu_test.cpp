#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class Swiglu : public KernelTest {};

TEST_P(Swiglu, MatchesDefinition) {
  OpBench a = tested(), b = reference();
  for (const int64_t n : {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 3072, 100003, 100004}) {
    const auto gate = random_floats(n, 20), up = random_floats(n, 3);
    const auto on = [&](OpBench& bench) {
      const Tensor tg = bench.upload({n, 1, 1, 1}, gate), tu = bench.upload({n, 1, 1, 1}, up);
      return bench.run([&](Stream& s) { return swiglu(s, tg, tu); });
    };
    SCOPED_TRACE(n);
    expect_close(on(a), on(b), 1e-30f, 1e-6f);
  }
}

// exp(-gate) goes to infinity for the first ones: the product is a zero, not a NaN.
TEST_P(Swiglu, FarTailsAreZeroOrTheGate) {
  OpBench bench = tested();
  const std::vector<float> gate = {-1e30f, -1000, -104, -89, -88, 0, 88, 104, 1000, 1e30f};
  const Tensor tg = bench.upload({static_cast<int64_t>(gate.size()), 1, 1, 1}, gate);
  const Tensor tu = bench.upload(tg.ne, std::vector<float>(gate.size(), 1.0f));
  const auto got = bench.run([&](Stream& s) { return swiglu(s, tg, tu); });
  for (size_t i = 0; i < gate.size(); ++i) {
    EXPECT_NEAR(got[i], gate[i] > 0 ? gate[i] : 0, std::fabs(gate[i]) > 100 ? 0 : 1e-35f) << gate[i];
  }
}

PARLANCE_FOR_EACH_DEVICE(Swiglu, &OpTable::swiglu);

}  // namespace
}  // namespace parlance::test
