// Products that normalise, add up and gate on their way: the bits of the operations that they stand for,
// which see a row more, as of an answer beside others.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/fused_ops.h"
#include "kernels/support/devices.h"
#include "kernels/support/weights.h"

namespace parlance::test {
namespace {

class FusedProducts : public KernelTest {
 protected:
  static constexpr float kEps = 1e-6f;

  static void expect_same_bits(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_LE(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(float)), 0)
          << "element " << i << " of " << got.size() << ": " << got[i] << ", not " << want[i];
    }
  }

  // Rows, and the same with another behind them; without where many rows are summed up as is fastest for so
  // many.
  static constexpr int64_t kMostAlike = 64;
  struct Rows {
    Tensor few, more;
  };
  Rows random_rows(OpBench& bench, int64_t n, int64_t n_rows) {
    const int64_t n_more = n_rows + (n_rows > kMostAlike ? 0 : 1);
    std::vector<float> values = random_floats(n_more * n, 3);
    const Tensor more = bench.upload({n, n_more, 1, 1}, values);
    values.resize(static_cast<size_t>(n_rows * n));
    return {bench.upload({n, n_rows, 1, 1}, values), more};
  }

  void expect_products(OpBench& bench, const Linear& a, const Linear& b, int64_t n_rows) {
    const int64_t n_in = a.weight.ne[0];
    const Rows x = random_rows(bench, n_in, n_rows);
    const Tensor norm = bench.upload({n_in, 1, 1, 1}, random_floats(n_in));
    for (int i = 0; i < 2; ++i) {
      const auto got = bench.run([&](Stream& s) {
        return matmul(s, {&a, &b}, Normed{x.few, norm, kEps}).out[static_cast<size_t>(i)];
      });
      const auto want = bench.run([&](Stream& s) {
        return matmul(s, {&a, &b}, rms_norm(s, x.more, norm, kEps)).out[static_cast<size_t>(i)];
      });
      expect_same_bits(got, want);
    }
    const auto got = bench.run([&](Stream& s) { return matmul_swiglu(s, a, b, Normed{x.few, norm, kEps}); });
    const auto want = bench.run([&](Stream& s) {
      const Products both = matmul(s, {&a, &b}, rms_norm(s, x.more, norm, kEps));
      return swiglu(s, both.out[0], both.out[1]);
    });
    expect_same_bits(got, want);
  }

  void expect_sum(OpBench& bench, const Linear& w, int64_t n_rows) {
    const Rows x = random_rows(bench, w.weight.ne[0], n_rows);
    const Rows h = random_rows(bench, w.weight.n_rows(), n_rows);
    const auto got = bench.run([&](Stream& s) {
      matmul_add(s, h.few, w, x.few);
      return h.few;
    });
    const auto want = bench.run([&](Stream& s) {
      add(s, h.more, matmul(s, w, x.more));
      return h.more;
    });
    expect_same_bits(got, want);
  }

  // Rows of one column of a kernel's tiles, or two, or four, or eight, with and without gaps.
  static constexpr int64_t kRowCounts[] = {1, 3, 8, 13, 16, 17, 29, 63};
};

TEST_P(FusedProducts, AreWhatTheirOperationsGive) {
  OpBench bench = tested();
  if (!fuses_rows(bench.stream(), 1)) GTEST_SKIP() << "the device has an operation for each";
  std::vector<WeightType> types = quantised_types();
  types.insert(types.end(), float_types().begin(), float_types().end());
  for (const WeightType& type : types) {
    if (type.dtype != DType::q8_0 && !meets_in_long_rows(bench.device(), type.dtype)) continue;
    const int64_t block = traits(type.dtype).block_elements;
    // Rows of few parts and many, with a shorter last one, and such as no kernel takes in one piece.
    for (const int64_t n_in :
         {block, int64_t{96}, int64_t{256}, int64_t{512}, int64_t{768}, int64_t{1024}, int64_t{1280},
          int64_t{2560}, int64_t{3072}, int64_t{4096}, int64_t{9728}, int64_t{12288}, int64_t{30720}}) {
      if (n_in % block != 0) continue;
      // Every length of every type is compiled for: of most types one.
      const bool is_usual = type.dtype == DType::q8_0 || type.dtype == DType::f16;
      const bool is_one_of_each = n_in == 1280 || (is_usual && (n_in == block || n_in == 9728));
      if (is_software_vulkan() && !is_one_of_each) continue;
      const int64_t many = is_software_vulkan() ? 300 : n_in < 2000 ? 5000 : 608;
      for (const int64_t n_out : {int64_t{1}, int64_t{37}, many}) {
        if (is_software_vulkan() && !is_usual && n_out != 37) continue;
        SCOPED_TRACE(testing::Message() << name_of(type.dtype) << " " << n_in << " x " << n_out);
        const Linear a = random_linear(bench, random_, type, n_in, n_out, n_out == 37);
        const Linear b = random_linear(bench, random_, type, n_in, n_out, false);
        for (const int64_t n_rows : kRowCounts) {
          if (!fuses_rows(bench.stream(), n_rows)) continue;
          SCOPED_TRACE(testing::Message() << n_rows << " rows");
          expect_products(bench, a, b, n_rows);
          expect_sum(bench, a, n_rows);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Tiles that are full and not, of a few shapes, of which some have parts that are summed up apart.
TEST_P(FusedProducts, OfPiecesOfPromptsToo) {
  OpBench bench = tested();
  if (!fuses_rows(bench.stream(), kMostAlike + 1)) GTEST_SKIP() << "the device has an operation for each";
  std::vector<WeightType> types = quantised_types();
  types.insert(types.end(), float_types().begin(), float_types().end());
  for (const WeightType& type : types) {
    const int64_t block = traits(type.dtype).block_elements;
    const bool is_usual = type.dtype == DType::q8_0 || type.dtype == DType::f16;
    for (const int64_t n_in : {block, int64_t{1024}, int64_t{1280}, int64_t{3072}, int64_t{4096}}) {
      const bool is_large = n_in == 4096;  // tiles of 256 tokens, of which none has parts
      if (n_in % block != 0 || (is_large && !is_usual)) continue;
      const int64_t many = is_large ? 1900 : n_in < 1000 ? 6000 : 200;
      for (const int64_t n_out : {int64_t{37}, many}) {
        SCOPED_TRACE(testing::Message() << name_of(type.dtype) << " " << n_in << " x " << n_out);
        const Linear a = random_linear(bench, random_, type, n_in, n_out, n_out == 37);
        const Linear b = random_linear(bench, random_, type, n_in, n_out, false);
        for (const int64_t n_rows : {65, 130, 500, 1100}) {
          if (is_large != (n_rows == 1100)) continue;
          SCOPED_TRACE(testing::Message() << n_rows << " rows");
          expect_products(bench, a, b, n_rows);
          expect_sum(bench, a, n_rows);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Files keep some weights of a layer in another type than the rest.
TEST_P(FusedProducts, TakeWeightsOfDifferentTypes) {
  OpBench bench = tested();
  if (!fuses_rows(bench.stream(), 1)) GTEST_SKIP() << "the device has an operation for each";
  const auto type_of = [](DType dtype) { return WeightType{dtype, {}, {}}; };
  for (const auto& [first, second] : {std::pair{quantised_types()[0], quantised_types()[9]},
                                      std::pair{quantised_types()[7], type_of(DType::f16)},
                                      std::pair{type_of(DType::f16), type_of(DType::bf16)},
                                      std::pair{type_of(DType::f32), type_of(DType::f16)}}) {
    for (const int64_t n_in : {256, 2048}) {
      SCOPED_TRACE(testing::Message()
                   << name_of(first.dtype) << ", " << name_of(second.dtype) << " " << n_in);
      const Linear a = random_linear(bench, random_, first, n_in, 70, true);
      const Linear b = random_linear(bench, random_, second, n_in, 70, false);
      for (const int64_t n_rows : kRowCounts) {
        if (fuses_rows(bench.stream(), n_rows)) expect_products(bench, a, b, n_rows);
      }
    }
  }
}

// As of a layer's queries, keys and values, some with biases, of which some have another type.
TEST_P(FusedProducts, AreSeveralAtOnce) {
  OpBench bench = tested();
  if (!fuses_rows(bench.stream(), 1)) GTEST_SKIP() << "the device has an operation for each";
  constexpr int64_t kIn = 1024;
  const std::vector<WeightType> types = quantised_types();
  for (const auto& [first, last] :
       {std::pair{types[0], types[0]}, std::pair{types[7], types[9]},
        std::pair{WeightType{DType::f16, {}, {}}, WeightType{DType::f16, {}, {}}}}) {
    SCOPED_TRACE(testing::Message() << name_of(first.dtype) << ", " << name_of(last.dtype));
    const Linear q = random_linear(bench, random_, first, kIn, 300, true),
                 k = random_linear(bench, random_, first, kIn, 37, false),
                 v = random_linear(bench, random_, last, kIn, 65, true);
    const Rows x = random_rows(bench, kIn, 1);
    const Tensor norm = bench.upload({kIn, 1, 1, 1}, random_floats(kIn));
    for (size_t i = 0; i < 3; ++i) {
      const auto got = bench.run([&](Stream& s) {
        return matmul(s, {&q, &k, &v}, Normed{x.few, norm, kEps}).out[i];
      });
      const auto want = bench.run([&](Stream& s) {
        return matmul(s, {&q, &k, &v}, rms_norm(s, x.more, norm, kEps)).out[i];
      });
      expect_same_bits(got, want);
    }
  }
}

// What is no number in a token shows in all of its products, and in no bit of another token's.
TEST_P(FusedProducts, ShowWhatIsNoNumber) {
  OpBench bench = tested();
  if (!fuses_rows(bench.stream(), 1)) GTEST_SKIP() << "the device has an operation for each";
  constexpr int64_t kIn = 512, kOut = 70;
  const auto shape = [](int64_t n, int64_t n_rows) { return std::array<int64_t, 4>{n, n_rows, 1, 1}; };
  for (const WeightType& type : {quantised_types()[0], WeightType{DType::f16, {}, {}}}) {
    const Linear a = random_linear(bench, random_, type, kIn, kOut, false),
                 b = random_linear(bench, random_, type, kIn, kOut, true);
    const Linear down = random_linear(bench, random_, type, kIn, kOut, false);
    const Tensor norm = bench.upload({kIn, 1, 1, 1}, random_floats(kIn));
    for (const int64_t n_rows : {1, 3, 16, 17, 64}) {
      if (!fuses_rows(bench.stream(), n_rows, type.dtype)) continue;
      const std::vector<float> whole = random_floats(n_rows * kIn);
      const Tensor before = bench.upload(shape(kOut, n_rows), random_floats(n_rows * kOut));
      const auto expect_last_damaged = [&](float damage, const std::function<Tensor(Stream&, Tensor)>& run) {
        std::vector<float> values = whole;
        values[static_cast<size_t>((n_rows - 1) * kIn + 300)] = damage;
        const auto of = [&](const std::vector<float>& x) {
          const Tensor uploaded = bench.upload(shape(kIn, n_rows), x);
          return bench.run([&](Stream& s) { return run(s, uploaded); });
        };
        const std::vector<float> got = of(values);
        ASSERT_EQ(std::ssize(got), n_rows * kOut);
        const auto last = got.end() - kOut;
        EXPECT_TRUE(std::none_of(last, got.end(), [](float value) { return std::isfinite(value); }));
        expect_same_bits({got.begin(), last}, of(whole));
      };
      for (const float damage :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        SCOPED_TRACE(testing::Message() << name_of(type.dtype) << ", " << n_rows << " rows, " << damage);
        expect_last_damaged(damage, [&](Stream& s, const Tensor& x) {
          return matmul(s, {&a, &b}, Normed{x, norm, kEps}).out[1];
        });
        expect_last_damaged(damage, [&](Stream& s, const Tensor& x) {
          return matmul_swiglu(s, a, b, Normed{x, norm, kEps});
        });
        expect_last_damaged(damage, [&](Stream& s, const Tensor& x) {
          const Tensor h = s.workspace().allocate(DType::f32, kOut, n_rows);
          copy(s, h, before);
          matmul_add(s, h, down, x);
          return h;
        });
      }
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(FusedProducts);

}  // namespace
}  // namespace parlance::test
