// rope_angles and rope: what each pair is multiplied with, and which elements make a pair.
#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class Rope : public KernelTest {
 protected:
  // [n_pairs, 2]: base^(-2 i / n_rot), split into a float and what it leaves out.
  static std::vector<float> inverse_frequencies(int64_t n_pairs, double base) {
    std::vector<float> inverse(static_cast<size_t>(2 * n_pairs));
    for (int64_t i = 0; i < n_pairs; ++i) {
      const double exact = std::pow(base, -static_cast<double>(i) / static_cast<double>(n_pairs));
      const auto high = static_cast<float>(exact);
      inverse[static_cast<size_t>(i)] = high;
      inverse[static_cast<size_t>(n_pairs + i)] = static_cast<float>(exact - static_cast<double>(high));
    }
    return inverse;
  }
};

TEST_P(Rope, AnglesAreExactAtLargePositions) {
  OpBench bench = tested();
  for (const int64_t n_pairs : {1, 5, 32, 64}) {
    for (const int64_t n_tokens : {0, 1, 2, 300}) {
      std::vector<int32_t> pos(static_cast<size_t>(n_tokens));
      for (size_t t = 0; t < pos.size(); ++t) pos[t] = static_cast<int32_t>(131071 - 400 * t);
      const Tensor tpos = bench.upload(pos);
      const Tensor inverse = bench.upload({n_pairs, 2, 1, 1}, inverse_frequencies(n_pairs, 1e6));
      const auto got = bench.run([&](Stream& s) { return rope_angles(s, tpos, inverse, 1.25f); });
      std::vector<float> want;
      for (const int32_t p : pos) {
        for (const bool is_sine : {false, true}) {
          for (int64_t i = 0; i < n_pairs; ++i) {
            const double angle = p * std::pow(1e6, -static_cast<double>(i) / static_cast<double>(n_pairs));
            want.push_back(static_cast<float>(1.25 * (is_sine ? std::sin(angle) : std::cos(angle))));
          }
        }
      }
      expect_close(got, want, 1e-6f, 0);
    }
  }
}

// Every pair has the angle of the position that it takes.
TEST_P(Rope, SectionsTakeOneOfSeveralPositions) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().sectioned_rope_angles)) GTEST_SKIP() << "this device has no such angles";
  const std::vector<float> inverse = {1, 0.5f, 0.25f, 0.125f, 0.0625f, 0, 0, 0, 0, 0};
  const std::vector<int32_t> sections = {0, 2, 1, 3, 2}, pos = {0, 5, 9, 2, 7, 0, 1, 3, 30, 31, 100000, 4};
  const Tensor frequencies = bench.upload({5, 2, 1, 1}, inverse), section = bench.upload(sections);
  Tensor all = bench.upload(pos);
  all.ne = {4, 3, 1, 1};
  const auto got =
      bench.run([&](Stream& s) { return sectioned_rope_angles(s, all, section, frequencies, 1.25f); });
  ASSERT_EQ(got.size(), 3u * 10);
  for (size_t which = 0; which < 4; ++which) {
    const Tensor one = bench.upload(std::vector<int32_t>{pos[which], pos[4 + which], pos[8 + which]});
    const auto plain = bench.run([&](Stream& s) { return rope_angles(s, one, frequencies, 1.25f); });
    for (size_t i = 0; i < got.size(); ++i) {
      if (sections[i % 5] != static_cast<int32_t>(which)) continue;
      EXPECT_EQ(got[i], plain[i]) << i;
    }
  }
}

TEST_P(Rope, RotatesPairsAndLeavesTheRest) {
  OpBench bench = tested();
  for (const auto style : {RopeStyle::neighbours, RopeStyle::halves}) {
    for (const int64_t n_rot : {2, 6, 20, 62, 64, 66, 80, 128}) {
      for (const int64_t rest : {0, 1, 16, 64}) {
        const int64_t head_dim = n_rot + rest, n_pairs = n_rot / 2, n_head = 3, n_tokens = 5;
        const auto x = random_floats(head_dim * n_head * n_tokens);
        const auto angles = random_floats(n_rot * n_tokens);
        std::vector<float> want = x;
        for (int64_t row = 0; row < n_head * n_tokens; ++row) {
          for (int64_t i = 0; i < n_pairs; ++i) {
            const bool is_halves = style == RopeStyle::halves;
            float& a = want[static_cast<size_t>(row * head_dim + (is_halves ? i : 2 * i))];
            float& b = want[static_cast<size_t>(row * head_dim + (is_halves ? i + n_pairs : 2 * i + 1))];
            const float c = angles[static_cast<size_t>(row / n_head * n_rot + i)];
            const float s = angles[static_cast<size_t>(row / n_head * n_rot + n_pairs + i)];
            const float rotated = a * c - b * s;
            b = a * s + b * c;
            a = rotated;
          }
        }
        const Tensor tx = bench.upload({head_dim, n_head, n_tokens, 1}, x);
        const Tensor ta = bench.upload({n_pairs, 2, n_tokens, 1}, angles);
        const auto got = bench.run([&](Stream& s) {
          rope(s, tx, ta, style);
          return tx;
        });
        SCOPED_TRACE(testing::Message() << n_rot << " of " << head_dim);
        expect_close(got, want, 1e-6f, 0);
      }
    }
  }
}

TEST_P(Rope, ManyTokensAndNone) {
  OpBench a = tested(), b = reference();
  for (const int64_t n_tokens : {0, 1, 37, 256}) {
    const auto x = random_floats(64 * 8 * n_tokens), angles = random_floats(64 * n_tokens);
    const auto on = [&](OpBench& bench) {
      const Tensor tx = bench.upload({64, 8, n_tokens, 1}, x);
      const Tensor ta = bench.upload({32, 2, n_tokens, 1}, angles);
      return bench.run([&](Stream& s) {
        rope(s, tx, ta, RopeStyle::halves);
        return tx;
      });
    };
    expect_close(on(a), on(b), 1e-6f, 0);
  }
}

PARLANCE_FOR_EACH_DEVICE(Rope, &OpTable::rope, &OpTable::rope_angles, &OpTable::sectioned_rope_angles);

}  // namespace
}  // namespace parlance::test
