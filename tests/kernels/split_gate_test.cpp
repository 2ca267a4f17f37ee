#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class SplitGate : public KernelTest {};

TEST_P(SplitGate, SeparatesQueriesFromGates) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().split_gate)) GTEST_SKIP() << "this device has no split_gate";
  for (const int64_t head_dim : {1, 2, 20, 256}) {
    for (const int64_t n_tokens : {0, 1, 3, 70}) {
      SCOPED_TRACE(testing::Message() << head_dim << " x " << n_tokens);
      constexpr int64_t kHeads = 3;
      std::vector<float> values(static_cast<size_t>(2 * head_dim * kHeads * n_tokens));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
      const Tensor x = bench.upload({2 * head_dim, kHeads, n_tokens, 1}, values);
      QueryAndGate parts;
      const auto q = bench.run([&](Stream& s) {
        parts = split_gate(s, x);
        return parts.q;
      });
      const auto gate = bench.download(parts.gate);
      EXPECT_EQ(parts.q.ne, (std::array<int64_t, 4>{head_dim, kHeads, n_tokens, 1}));
      for (size_t i = 0; i < q.size(); ++i) {
        const auto n = static_cast<size_t>(head_dim);
        ASSERT_EQ(q[i], values[i / n * 2 * n + i % n]);
        ASSERT_EQ(gate[i], values[(i / n * 2 + 1) * n + i % n]);
      }
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(SplitGate, &OpTable::split_gate);

}  // namespace
}  // namespace parlance::test
