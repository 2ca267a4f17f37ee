#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class Argmax : public KernelTest {
 protected:
  std::vector<int32_t> run(OpBench& bench, const std::vector<float>& x, int64_t n_rows) {
    const Tensor tx = bench.upload({static_cast<int64_t>(x.size()) / n_rows, n_rows, 1, 1}, x);
    std::vector<int32_t> found(static_cast<size_t>(n_rows));
    const auto bits = bench.run([&](Stream& s) { return as_floats(argmax(s, tx)); });
    std::memcpy(found.data(), bits.data(), found.size() * sizeof(int32_t));
    return found;
  }

  static Tensor as_floats(Tensor indices) {
    indices.dtype = DType::f32;
    return indices;
  }
};

TEST_P(Argmax, FirstOfTheLargest) {
  OpBench bench = tested();
  for (const int64_t n : {1, 2, 31, 64, 65, 1000, 5003, 151936}) {
    const int64_t n_rows = n > 100000 ? 3 : 17;
    auto x = random_floats(n * n_rows, 3);
    for (float& value : x)
      value = std::round(value * 64) / 64 - 5;  // many are equal, and all may be negative
    std::vector<int32_t> want;
    for (int64_t row = 0; row < n_rows; ++row) {
      const auto first = x.begin() + row * n;
      want.push_back(static_cast<int32_t>(std::max_element(first, first + n) - first));
    }
    EXPECT_EQ(run(bench, x, n_rows), want) << n;
  }
}

// Wherever it stands, and whatever it stands beside.
TEST_P(Argmax, WhatIsNoNumberIsSeen) {
  OpBench bench = tested();
  constexpr int64_t kN = 4100;
  const std::vector<float> bad = {NAN, -NAN, INFINITY, -INFINITY};
  const std::vector<int64_t> places = {0, 1, 63, 64, 2047, 4095, 4096, 4099};
  std::vector<float> x;
  std::vector<int32_t> want;
  for (const float value : bad) {
    for (const int64_t place : places) {
      auto row = random_floats(kN);
      row[static_cast<size_t>(place)] = value;
      x.insert(x.end(), row.begin(), row.end());
      auto beside = random_floats(kN);
      beside[static_cast<size_t>(place)] = 3e38f;
      x.insert(x.end(), beside.begin(), beside.end());
      want.push_back(-1);
      want.push_back(static_cast<int32_t>(place));
    }
  }
  EXPECT_EQ(run(bench, x, std::ssize(want)), want);
}

TEST_P(Argmax, ZerosAreEqual) {
  OpBench bench = tested();
  EXPECT_EQ(run(bench, {-1, -0.0f, 0.0f, -2, -1, 0.0f, -0.0f, -2}, 2), (std::vector<int32_t>{1, 1}));
}

TEST_P(Argmax, ProbabilityIsThatOfSoftmax) {
  OpBench bench = tested();
  for (const int64_t n : {1, 2, 63, 65, 1000, 151936}) {
    constexpr int64_t kRows = 4;
    auto x = random_floats(n * kRows, 6);
    x[static_cast<size_t>(n * kRows - 1)] = NAN;
    for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(n + i)] += 1000;
    const Tensor tx = bench.upload({n, kRows, 1, 1}, x);
    const auto told = bench.run([&](Stream& s) { return as_floats(argmax_with_probability(s, tx)); });
    ASSERT_EQ(told.size(), 2u * kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      const auto first = x.begin() + row * n;
      const auto most = std::max_element(first, first + n);
      const bool is_bad = row == kRows - 1;
      EXPECT_EQ(std::bit_cast<int32_t>(told[static_cast<size_t>(2 * row)]), is_bad ? -1 : most - first);
      double sum = 0;
      for (auto value = first; value != first + n; ++value)
        sum += std::exp(static_cast<double>(*value) - *most);
      const auto want = static_cast<float>(is_bad ? 0 : 1 / sum);
      EXPECT_NEAR(told[static_cast<size_t>(2 * row + 1)], want, 2e-5f * want)
          << n << " elements, row " << row;
    }
  }
}

// The likeliest tokens in their order, equal ones by their index, each as likely as softmax says.
TEST_P(Argmax, TopKAreThoseOfASortedRow) {
  OpBench bench = tested();
  for (const int64_t n : {1, 2, 5, 64, 65, 1000, 5003, 151936}) {
    constexpr int64_t kRows = 5, kRanks = 6;
    auto x = random_floats(n * kRows, 6);
    for (float& value : x) value = std::round(value * 64) / 64;  // many are equal
    x[static_cast<size_t>(n * kRows - 1)] = INFINITY;
    const Tensor tx = bench.upload({n, kRows, 1, 1}, x);
    const auto told = bench.run([&](Stream& s) { return as_floats(top_k_with_probability(s, tx, kRanks)); });
    ASSERT_EQ(told.size(), static_cast<size_t>(2 * kRanks * kRows));
    for (int64_t row = 0; row < kRows; ++row) {
      const float* const values = x.data() + row * n;
      std::vector<int32_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return values[a] > values[b]; });
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(values[i]) - values[order[0]]);
      for (int64_t rank = 0; rank < kRanks; ++rank) {
        const float* const at = told.data() + 2 * (row * kRanks + rank);
        const bool is_none = rank >= n || row == kRows - 1;
        const int32_t want = is_none ? -1 : order[static_cast<size_t>(rank)];
        ASSERT_EQ(std::bit_cast<int32_t>(at[0]), want) << n << " elements, row " << row << ", rank " << rank;
        const double share =
            is_none ? 0 : std::exp(static_cast<double>(values[want]) - values[order[0]]) / sum;
        ASSERT_NEAR(at[1], share, 4e-5 * share) << n << " elements, row " << row << ", rank " << rank;
      }
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(Argmax, &OpTable::argmax);

}  // namespace
}  // namespace parlance::test
