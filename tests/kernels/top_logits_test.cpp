#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

// Of one row.
struct Told {
  int32_t n;
  float sum;
  std::vector<int32_t> tokens;
  std::vector<float> logits;
};

class TopLogits : public KernelTest {
 protected:
  static std::vector<Told> run(OpBench& bench, const std::vector<float>& x, int64_t n, int64_t k) {
    const auto n_rows = static_cast<int64_t>(x.size()) / n;
    const Tensor tx = bench.upload({n, n_rows, 1, 1}, x);
    const auto all = bench.run([&](Stream& s) {
      Tensor out = top_logits(s, tx, k);
      out.dtype = DType::f32;
      return out;
    });
    std::vector<Told> told;
    const auto n_told = static_cast<size_t>(std::min(n, k));
    for (auto row = all.begin(); row != all.end(); row += static_cast<std::ptrdiff_t>(2 + 2 * n_told)) {
      Told& one = told.emplace_back(Told{std::bit_cast<int32_t>(row[0]), row[1], {}, {}});
      for (size_t i = 0; i < n_told; ++i) {
        one.tokens.push_back(std::bit_cast<int32_t>(row[static_cast<std::ptrdiff_t>(2 + i)]));
        one.logits.push_back(row[static_cast<std::ptrdiff_t>(2 + n_told + i)]);
      }
    }
    EXPECT_EQ(std::ssize(told), n_rows);
    return told;
  }

  // Against a row that is sorted as a whole.
  static void expect_top(const std::vector<float>& x, int64_t n, int64_t k, const std::vector<Told>& told) {
    for (size_t row = 0; row < told.size(); ++row) {
      SCOPED_TRACE(::testing::Message() << n << " logits, the first " << k << ", row " << row);
      const float* const values = x.data() + row * static_cast<size_t>(n);
      std::vector<int32_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return values[a] > values[b]; });
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(values[i]) - values[order[0]]);
      order.resize(static_cast<size_t>(std::min(n, k)));
      EXPECT_EQ(told[row].n, std::ssize(order));
      EXPECT_EQ(told[row].tokens, order);
      for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(told[row].logits[i], values[order[i]]);
      EXPECT_NEAR(told[row].sum, sum, 1e-4 * sum);
    }
  }
};

TEST_P(TopLogits, AreThoseOfASortedRow) {
  OpBench bench = tested();
  for (const int64_t n : {1,    2,    5,    63,   64,   127,  128,  129,   255,   256,   511,   1023,
                          1024, 2047, 2048, 4095, 4096, 4097, 5003, 16383, 16384, 32001, 151936}) {
    const int64_t n_rows = n > 100000 ? 3 : 5;
    auto x = random_floats(n * n_rows, 9);
    // One row has many equals, in another one they rise or fall.
    for (int64_t i = 0; i < n; ++i)
      x[static_cast<size_t>(i)] = std::round(x[static_cast<size_t>(i)] * 8) / 8 - 5;
    for (int64_t i = 0; i < n; ++i)
      x[static_cast<size_t>(n + i)] = static_cast<float>(n_rows % 2 == 0 ? i : n - i) * 1e-3f;
    for (const int64_t k : {int64_t{1}, int64_t{40}, kMostTopLogits})
      expect_top(x, n, k, run(bench, x, n, k));
  }
}

// All equal, zeros of both signs, one that stands out, the highest all in one place, and far apart.
TEST_P(TopLogits, OfRowsThatAreUnlikely) {
  OpBench bench = tested();
  for (const int64_t n : {700, 4999, 70001}) {
    const auto at = [n](std::vector<float>& x, int64_t row, int64_t i) -> float& {
      return x[static_cast<size_t>(row * n + i)];
    };
    std::vector<float> x(static_cast<size_t>(7 * n), -3.0f);
    for (int64_t i = 0; i < n; ++i) {
      at(x, 1, i) = i % 3 == 0 ? -0.0f : 0.0f;
      at(x, 3, i) = i < n / 2 && i % 256 < 8 ? 5.0f + static_cast<float>(i % 7) : -1.0f;
      at(x, 4, i) = i >= n - 3000 ? 2.0f : 1.0f;
      at(x, 5, i) = i % 2 == 0 ? 3e38f : -3e38f;
      at(x, 6, i) = i < 4000 ? static_cast<float>(i % 5) : -50.0f;
    }
    at(x, 2, n - 1) = 4;
    for (const int64_t k : {int64_t{7}, kMostTopLogits}) expect_top(x, n, k, run(bench, x, n, k));
  }
}

TEST_P(TopLogits, WhatIsNoNumberIsSeen) {
  OpBench bench = tested();
  constexpr int64_t kN = 4100;
  std::vector<float> x;
  for (const float value : {NAN, -NAN, INFINITY, -INFINITY}) {
    for (const int64_t place : {0, 1, 63, 64, 2047, 4095, 4096, 4099}) {
      auto row = random_floats(kN);
      x.insert(x.end(), row.begin(), row.end());
      row[static_cast<size_t>(place)] = value;
      x.insert(x.end(), row.begin(), row.end());
    }
  }
  const std::vector<Told> told = run(bench, x, kN, 40);
  for (size_t row = 0; row < told.size(); ++row) EXPECT_EQ(told[row].n, row % 2 == 0 ? 40 : -1) << row;
}

PARLANCE_FOR_EACH_DEVICE(TopLogits, &OpTable::top_logits);

}  // namespace
}  // namespace parlance::test
