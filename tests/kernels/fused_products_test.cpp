// Products that normalise, add up and gate on their way: the bits of the operations that they stand for,
// which see two rows, as of an answer beside others.
#include <cstring>

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

  Linear random_linear(OpBench& bench, const WeightType& type, int64_t n_in, int64_t n_out, bool has_bias) {
    Random random(static_cast<uint32_t>(n_in + n_out));
    OwnedTensor weight(type.dtype, n_in, n_out);
    fill_weight(random, type, weight.tensor);
    const std::span bytes(weight.tensor.data, weight.tensor.size());
    Linear linear{bench.upload(type.dtype, {n_in, n_out, 1, 1}, bytes), {}};
    if (has_bias) linear.bias = bench.upload({n_out, 1, 1, 1}, random_floats(n_out));
    return linear;
  }

  // One row, and the same with another behind it.
  struct Rows {
    Tensor one, two;
  };
  Rows random_rows(OpBench& bench, int64_t n) {
    std::vector<float> values = random_floats(2 * n, 3);
    const Tensor two = bench.upload({n, 2, 1, 1}, values);
    values.resize(static_cast<size_t>(n));
    return {bench.upload({n, 1, 1, 1}, values), two};
  }

  void expect_products(OpBench& bench, const Linear& a, const Linear& b) {
    const int64_t n_in = a.weight.ne[0];
    const Rows x = random_rows(bench, n_in);
    const Tensor norm = bench.upload({n_in, 1, 1, 1}, random_floats(n_in));
    for (int i = 0; i < 2; ++i) {
      const auto got = bench.run([&](Stream& s) {
        return matmul(s, {&a, &b}, Normed{x.one, norm, kEps}).out[static_cast<size_t>(i)];
      });
      const auto want = bench.run([&](Stream& s) {
        return matmul(s, {&a, &b}, rms_norm(s, x.two, norm, kEps)).out[static_cast<size_t>(i)];
      });
      expect_same_bits(got, want);
    }
    const auto got = bench.run([&](Stream& s) { return matmul_swiglu(s, a, b, Normed{x.one, norm, kEps}); });
    const auto want = bench.run([&](Stream& s) {
      const Products both = matmul(s, {&a, &b}, rms_norm(s, x.two, norm, kEps));
      return swiglu(s, both.out[0], both.out[1]);
    });
    expect_same_bits(got, want);
  }

  void expect_sum(OpBench& bench, const Linear& w) {
    const Rows x = random_rows(bench, w.weight.ne[0]), h = random_rows(bench, w.weight.n_rows());
    const auto got = bench.run([&](Stream& s) {
      matmul_add(s, h.one, w, x.one);
      return h.one;
    });
    const auto want = bench.run([&](Stream& s) {
      add(s, h.two, matmul(s, w, x.two));
      return h.two;
    });
    expect_same_bits(got, want);
  }
};

TEST_P(FusedProducts, AreWhatTheirOperationsGive) {
  OpBench bench = tested();
  if (!fuses_rows(bench.stream(), 1)) GTEST_SKIP() << "the device has an operation for each";
  std::vector<WeightType> types = quantised_types();
  types.insert(types.end(), float_types().begin(), float_types().end());
  for (const WeightType& type : types) {
    const int64_t block = traits(type.dtype).block_elements;
    // Rows of few parts and many, with a shorter last one, and such as no kernel takes in one piece.
    for (const int64_t n_in :
         {block, int64_t{96}, int64_t{256}, int64_t{512}, int64_t{768}, int64_t{1024}, int64_t{1280},
          int64_t{2560}, int64_t{3072}, int64_t{4096}, int64_t{9728}, int64_t{12288}, int64_t{30720}}) {
      if (n_in % block != 0) continue;
      for (const int64_t n_out : {int64_t{1}, int64_t{37}, n_in < 2000 ? int64_t{5000} : int64_t{608}}) {
        SCOPED_TRACE(testing::Message() << name_of(type.dtype) << " " << n_in << " x " << n_out);
        const Linear a = random_linear(bench, type, n_in, n_out, n_out == 37);
        const Linear b = random_linear(bench, type, n_in, n_out, false);
        expect_products(bench, a, b);
        expect_sum(bench, a);
        if (HasFailure()) return;
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
      expect_products(bench, random_linear(bench, first, n_in, 70, true),
                      random_linear(bench, second, n_in, 70, false));
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(FusedProducts);

}  // namespace
}  // namespace parlance::test
