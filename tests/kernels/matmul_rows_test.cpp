// A row of a product is the same bits whatever other rows are multiplied with it, and on however many
// threads: every type of weights on every instruction set of this CPU. A device that is not deterministic
// promises it for up to Device::most_alike_rows() rows, and more are close to that.
#include <map>
#include <set>
#include <utility>

#include "kernels/cpu/cpu_device.h"
#include "kernels/support/devices.h"
#include "kernels/support/imported.h"
#include "kernels/support/multiply.h"
#include "kernels/support/rounding_bounds.h"
#include "kernels/support/weights.h"

namespace parlance {
namespace {

using test::fill_normal, test::fill_weight, test::ImportedTensor, test::OwnedTensor, test::Random,
    test::WeightType;

std::vector<WeightType> all_types() {
  std::vector<WeightType> types = test::quantised_types();
  types.insert(types.end(), test::float_types().begin(), test::float_types().end());
  return types;
}

class MatmulRows : public testing::TestWithParam<Isa> {
 protected:
  // Made once for all products of a test, whose threads would else take longer to start than to multiply.
  Device& device(int n_threads, bool is_deterministic) {
    std::unique_ptr<Device>& device = devices_[{n_threads, is_deterministic}];
    if (!device) {
      device = std::move(*make_cpu_device(
          {.n_threads = n_threads, .isa = name_of(GetParam()), .deterministic = is_deterministic}));
    }
    return *device;
  }

  // Rows [first, first + n) of x times the weight.
  std::vector<float> multiply(int n_threads, bool is_deterministic, const Linear& linear, const Tensor& x,
                              int64_t first, int64_t n) {
    return test::multiply(device(n_threads, is_deterministic), n_threads, linear, x, first, n);
  }

  // What rows of activations give each alone.
  struct Expected {
    const Tensor& x;
    std::vector<float> alone;    // [row][n_out]
    std::vector<float> weights;  // [n_out][n_in]
    std::vector<double> bounds;  // [row][n_out]: how near rows are that are not alike; 0: not known yet
  };

  void expect_rows_alone(const WeightType& type, int64_t n_in, int64_t n_out, bool has_bias,
                         const std::vector<int64_t>& counts) {
    Random random(static_cast<uint32_t>(n_in * 100 + n_out));
    const int64_t most = *std::max_element(counts.begin(), counts.end());
    OwnedTensor weight(type.dtype, n_in, n_out), bias(DType::f32, n_out, 1), x(DType::f32, n_in, most);
    fill_weight(random, type, weight.tensor);
    fill_normal(random, bias.tensor);
    fill_normal(random, x.tensor);
    Linear linear{weight.tensor, has_bias ? bias.tensor : Tensor{}};
    Expected expected{x.tensor, {}, std::vector<float>(static_cast<size_t>(n_out * n_in)), {}};
    for (int64_t row = 0; row < most; ++row) {
      const std::vector<float> out = multiply(1, true, linear, x.tensor, row, 1);
      expected.alone.insert(expected.alone.end(), out.begin(), out.end());
    }
    for (int64_t row = 0; row < n_out; ++row)
      block_format(type.dtype).decode_row(weight.tensor.row(row), &expected.weights[row * n_in], n_in);
    expect_rows(linear, expected, counts);
    if (HasFatalFailure()) return;

    // From the copy of the weight, too.
    ImportedTensor imported(device(1, true), weight.tensor);
    if (!imported.has_copy()) return;
    imported.make_copy();
    imported.spoil();
    linear.weight = imported.tensor();
    expect_rows(linear, expected, counts);
  }

  // In both modes, where there are two.
  void expect_rows(const Linear& linear, Expected& expected, const std::vector<int64_t>& counts) {
    expect_rows(linear, expected, counts, /*is_deterministic=*/true, INT64_MAX);
    const int64_t most_alike = device(1, false).most_alike_rows(linear.weight.dtype);
    if (most_alike < INT64_MAX && !HasFatalFailure())
      expect_rows(linear, expected, counts, /*is_deterministic=*/false, most_alike);
  }

  void expect_rows(const Linear& linear, Expected& expected, const std::vector<int64_t>& counts,
                   bool is_deterministic, int64_t most_alike) {
    const int64_t most = expected.x.ne[1], n_out = linear.weight.n_rows();
    for (const int64_t count : counts) {
      // The first rows, and the last ones: the same row at another place of the batch.
      for (const int64_t first : std::set<int64_t>{0, most - count}) {
        SCOPED_TRACE(testing::Message() << describe(linear.weight) << ", rows " << first << " to "
                                        << first + count << (is_deterministic ? ", deterministic" : ""));
        const std::vector<float> together =
            multiply(1 + static_cast<int>(count % 3), is_deterministic, linear, expected.x, first, count);
        if (count > most_alike) {
          expect_near(together, linear.weight.dtype, expected, first, n_out);
        } else {
          ASSERT_EQ(0, std::memcmp(together.data(), expected.alone.data() + first * n_out,
                                   together.size() * sizeof(float)));
        }
        if (HasFatalFailure()) return;
      }
    }
  }

  // More rows than are alike. How near those of f16 weights are is known to matmul_test.cpp.
  static void expect_near(const std::vector<float>& got, DType dtype, Expected& expected, int64_t first,
                          int64_t n_out) {
    if (test::is_float(dtype)) return;
    expected.bounds.resize(expected.alone.size());
    for (int64_t i = 0; i < std::ssize(got); ++i) {
      const int64_t at = first * n_out + i;
      double& bound = expected.bounds[at];
      if (bound == 0) bound = bound_of(expected, at / n_out, at % n_out);
      ASSERT_NEAR(got[i], expected.alone[at], bound) << "row " << at / n_out << ", " << at % n_out;
    }
  }

  static double bound_of(const Expected& expected, int64_t row, int64_t out) {
    constexpr double kSums = 3e-6;  // in another order, of terms and a bias of about one
    const int64_t n_in = expected.x.ne[0];
    const float* const w = expected.weights.data() + out * n_in;
    const float* const x = expected.x.as<float>() + row * n_in;
    double terms = 0;
    for (int64_t k = 0; k < n_in; ++k) terms += std::fabs(w[k] * x[k]);
    return test::bf16_beside_bytes(w, x, n_in).most + kSums * (terms + 1);
  }

 private:
  std::map<std::pair<int, bool>, std::unique_ptr<Device>> devices_;
};

TEST_P(MatmulRows, AreWhatTheyAreAlone) {
  std::vector<int64_t> counts;
  // The plain loops are the same for any number of rows.
  for (int64_t count = 1; count <= 40; count += GetParam() == Isa::scalar ? 13 : 1) counts.push_back(count);
  for (const WeightType& type : all_types()) {
    const int64_t block = traits(type.dtype).block_elements;
    for (const int64_t n_blocks : {1, 3, 5}) {
      expect_rows_alone(type, std::max<int64_t>(block, 32) * n_blocks, 37, n_blocks != 3, counts);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(MatmulRows, AreWhatTheyAreAloneAtAnyWidth) {
  for (const WeightType& type : test::float_types()) {
    for (const int64_t n_in : {1, 2, 7, 31, 63, 65, 257, 1030, 1087}) {
      expect_rows_alone(type, n_in, 18, n_in % 2 == 0, {1, 2, 3, 4, 5, 16, 17, 30});
      if (HasFatalFailure()) return;
    }
  }
}

// Shapes of models, and rows longer than what is unpacked at once.
TEST_P(MatmulRows, AreWhatTheyAreAloneInModels) {
  for (const WeightType& type : all_types()) {
    expect_rows_alone(type, 1024, 128, false, {1, 2, 4, 9, 23, 100});
    expect_rows_alone(type, 9472, 33, true, {1, 2, 3, 5, 9, 17, 23});
    if (HasFatalFailure()) return;
  }
}

// Outputs of one product whose weights are read as they are and from copies, as while these are being made.
TEST_P(MatmulRows, AreTheSameWhicheverWeightsHaveCopies) {
  Random random(3);
  Device& device = this->device(2, false);
  const auto stream = device.make_stream();
  for (const WeightType& type : test::quantised_types()) {
    OwnedTensor weight(type.dtype, 512, 70), x(DType::f32, 512, 30);
    fill_weight(random, type, weight.tensor);
    fill_normal(random, x.tensor);
    for (const int64_t n : {1, 3, 30}) {
      std::vector<float> expected = multiply(1, false, {weight.tensor, {}}, x.tensor, 0, n);
      for (int with_copy = 0; with_copy < 4; ++with_copy) {
        std::array<std::unique_ptr<ImportedTensor>, 2> weights;
        std::array<std::vector<float>, 2> out;
        MatmulArgs args;
        args.x = x.tensor;
        args.x.ne[1] = n;
        args.n_outputs = 2;
        for (size_t i = 0; i < 2; ++i) {
          weights[i] = std::make_unique<ImportedTensor>(device, weight.tensor);
          if (weights[i]->has_copy()) weights[i]->make_copy(/*stops=*/!(with_copy >> i & 1));
          args.w[i].weight = weights[i]->tensor();
          out[i].resize(expected.size());
          args.out[i].ne = {70, n, 1, 1};
          args.out[i].data = reinterpret_cast<std::byte*>(out[i].data());
        }
        const Cell<MatmulArgs>& cell = device.ops().matmul[static_cast<size_t>(type.dtype)];
        Plan plan;
        if (cell.scratch) plan.scratch_bytes = cell.scratch(args, 2);
        ASSERT_TRUE(stream->reserve(plan).has_value());
        cell.run(*stream, args);
        for (const auto& own : out) EXPECT_EQ(own, expected) << name_of(type.dtype) << " " << with_copy;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, MatmulRows, testing::ValuesIn(available_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance
